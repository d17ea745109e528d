// The canvas of the open flow.
import {
  Background, BackgroundVariant, ControlButton, Controls, type FinalConnectionState, MiniMap, type OnConnectStart, ReactFlow, SelectionMode, useNodesInitialized, useReactFlow,
  type Connection, type EdgeTypes, type NodeTypes, useStore, useUpdateNodeInternals,
} from '@xyflow/react'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { Icon } from '../app/icons'
import { useCatalog } from '../state/catalog'
import { type CanvasNode, type Wire, isCard } from '../state/document'
import { useFlow } from '../state/flow'
import { fits, lookup, messagePorts, misfit, portFor } from '../state/ports'
import { useUi } from '../state/ui'
import { useValidation } from '../state/validation'
import { CardNodeView, FrameNodeView, NoteNodeView } from './FlowNode'
import { FIT, inSight, ranks } from './spot'
import { layout } from './layout'
import { FarWires } from './FarWires'
import { FindNode } from './FindNode'
import { Far } from './ports'
import { QuickAdd } from './QuickAdd'
import { WireView } from './WireView'

// Everything handed to the canvas is made once: a new object each time would draw all of it anew.
export const NODE_TYPES = { card: CardNodeView, pill: CardNodeView, note: NoteNodeView, frame: FrameNodeView } as unknown as NodeTypes
export const EDGE_TYPES = { wire: WireView } as unknown as EdgeTypes
const NO_EDGES: Wire[] = []
/** A click with one of these selects one more; Shift over the canvas also draws a box. */
const MORE_KEYS = ['Meta', 'Control', 'Shift']
const GRID: [number, number] = [10, 10]
/** More nodes than this: only those in sight are drawn. */
const MANY = 150
/** A large flow opens small, so that its ports need not be drawn before it is fitted. */
const SMALL = { x: 0, y: 0, zoom: 0.2 }
/** Below this zoom small print cannot be read and is not drawn. */
const FAR = 0.3
/** The zoom at which a node is shown that was looked for, where it is not larger already. */
const READABLE = 0.8
/** A small flow needs no map, which would lie on its nodes. */
const MAP_FROM = 12
const { onNodes, onEdges, beginGesture, endGesture, connect } = useFlow.getState()

const ports = () => {
  const { nodes, edges } = useFlow.getState()
  return lookup(nodes, edges, useCatalog.getState().types, useValidation.getState().cards)
}
const isValid = (c: Connection | Wire) => fits({ source: c.source, sourceHandle: c.sourceHandle, target: c.target, targetHandle: c.targetHandle }, ports()) !== null
const onConnect = (c: Connection) => void connect(c)
const onConnectStart: OnConnectStart = (_event, { nodeId, handleId, handleType }) => {
  if (!nodeId || !handleId) return
  const side = handleType === 'source' ? 'outputs' : 'inputs'
  const kind = ports().port(nodeId, side, handleId)?.kind
  if (kind) useUi.getState().set({ wiring: { node: nodeId, port: handleId, side, kind } })
}
type Wiring = NonNullable<ReturnType<typeof useUi.getState>['wiring']>

/** The id of the card under the pointer. */
const nodeAt = ({ clientX, clientY }: { clientX: number; clientY: number }) =>
  document.elementFromPoint(clientX, clientY)?.closest('.react-flow__node-card, .react-flow__node-pill')?.getAttribute('data-id') ?? null

/** An edge that is let go on a node goes to the port that fits. */
function landOn(from: Wiring, id: string): void {
  const { nodes, edges } = useFlow.getState()
  const node = nodes.find((each) => each.id === id)
  if (!node || !isCard(node) || id === from.node) return
  const port = portFor(node, from, useCatalog.getState().types, useValidation.getState().cards[id], edges)
  if (port === null) return useUi.getState().say(`${id} has no port that ${from.side === 'outputs' ? 'takes' : 'sends'} ${from.kind}.`)
  if (from.side === 'outputs') connect({ source: from.node, sourceHandle: from.port, target: id, targetHandle: port })
  else connect({ source: id, sourceHandle: port, target: from.node, targetHandle: from.port })
}

/** An edge dropped on empty canvas asks what to put there. */
const onConnectEnd = (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
  const { wiring, set } = useUi.getState()
  const point = 'changedTouches' in event ? event.changedTouches[0]! : event
  const end = state.toHandle
  const why = wiring && end?.id && !state.isValid ? misfit({ node: wiring.node, side: wiring.side, name: wiring.port }, { node: end.nodeId, side: end.type === 'source' ? 'outputs' : 'inputs', name: end.id }, ports()) : null
  const on = wiring && !end ? nodeAt(point) : null
  if (wiring && on) {
    set({ wiring: null })
    return landOn(wiring, on)
  }
  if (why && !(end?.nodeId === wiring?.node && end?.id === wiring?.port)) useUi.getState().say(why)
  if (wiring && !state.isValid && !state.toNode) set({ quickAdd: { screen: { x: point.clientX, y: point.clientY }, from: wiring }, wiring: null })
  else set({ wiring: null })
}
/** A click on one of many selected nodes means that one. */
const onNodeClick = (event: React.MouseEvent, node: CanvasNode) => {
  if (!event.shiftKey && !event.ctrlKey && !event.metaKey && useFlow.getState().nodes.filter((each) => each.selected).length > 1) useFlow.getState().select([node.id])
}
const miniClass = (node: CanvasNode) => `mini ${node.type ?? ''}`

export async function tidy(first = false): Promise<void> {
  const { nodes, edges, place } = useFlow.getState()
  const names = messagePorts(nodes, edges, useCatalog.getState().types, useValidation.getState().cards)
  place(await layout(nodes, edges, names), first)
}

/** Nodes as the Tab key goes through them: as they stand, not as the file lists them. The order is kept while they are
 * moved, for a node that changes its place among the others is drawn anew. */
function useInOrder(nodes: CanvasNode[]): CanvasNode[] {
  const opened = useFlow((s) => s.opened)
  const laidOut = useFlow((s) => s.laidOut)
  const rank = useMemo(() => ranks(useFlow.getState().nodes), [opened, laidOut, nodes.length])
  return useMemo(() => [...nodes].sort((a, b) => (rank.get(a.id) ?? Infinity) - (rank.get(b.id) ?? Infinity) || 0), [nodes, rank])
}

export function Canvas() {
  const nodes = useInOrder(useFlow((s) => s.nodes))
  const edges = useFlow((s) => s.edges)
  const wantsLayout = useFlow((s) => s.wantsLayout)
  const checked = useValidation((s) => s.state === 'current' || s.state === 'failed')
  const laidOut = useFlow((s) => s.laidOut)
  const canvas = useReactFlow<CanvasNode, Wire>()
  const theme = useUi((s) => s.theme)
  const wiring = useUi((s) => s.wiring !== null)
  // Nothing under the pointer is looked for while something follows it.
  const dragging = useFlow((s) => s.gesture !== null && s.gesture.rev !== s.rev)
  const far = useStore((s) => s.transform[2] < FAR)

  const measured = useNodesInitialized()
  const size = useStore((s) => `${s.width} ${s.height}`)
  const whole = useRef(true)
  const update = useUpdateNodeInternals()
  const wasFar = useRef(far)
  useEffect(() => {
    // Ports that come into sight are measured, or nothing could be joined to them.
    if (wasFar.current && !far) update(useFlow.getState().nodes.map((node) => node.id))
    wasFar.current = far
  }, [far, update])

  useEffect(() => {
    // Once all cards have their sizes: what is docked below a card must know how high it is. Only the validator knows what a
    // card says and the ports that its settings give it; the browser then measures it anew before the second frame.
    if (!wantsLayout || !measured || !checked) return
    let frame = requestAnimationFrame(() => { frame = requestAnimationFrame(() => void tidy(true)) })
    return () => cancelAnimationFrame(frame)
  }, [wantsLayout, measured, checked])
  useEffect(() => {
    // Who has not moved the view wants to see the whole flow, however large the window is.
    if (whole.current && size) void canvas.fitView(FIT)
  }, [size, canvas])
  useEffect(() => {
    // What was laid out anew is shown whole, once it has been drawn at its new place.
    if (laidOut) whole.current = true
    if (laidOut) requestAnimationFrame(() => requestAnimationFrame(() => void canvas.fitView(FIT)))
  }, [laidOut, canvas])

  const fitted = useUi((s) => s.fitted)
  const asked = useRef(fitted)
  useEffect(() => {
    if (asked.current === fitted) return
    asked.current = fitted
    whole.current = true
    void canvas.fitView({ ...FIT, duration: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 150 })
  }, [fitted, canvas])

  const reveal = useUi((s) => s.reveal)
  useEffect(() => {
    const node = useFlow.getState().nodes.find((each) => each.id === reveal?.id)
    if (!reveal || !node) return
    whole.current = false
    const { width = 220, height = 96 } = node.measured ?? {}
    useUi.getState().set({ reveal: null })
    if (!reveal.near && inSight(canvas, node.position)) return
    const zoom = reveal.near ? Math.max(canvas.getZoom(), READABLE) : canvas.getZoom()
    void canvas.setCenter(node.position.x + width / 2, node.position.y + height / 2, { zoom, duration: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 150 })
  }, [reveal, canvas])

  const onDrop = useCallback((event: React.DragEvent) => {
    const type = useCatalog.getState().types[event.dataTransfer.getData('application/x-farthing-node')]
    if (!type) return
    event.preventDefault()
    const at = canvas.screenToFlowPosition({ x: event.clientX, y: event.clientY })
    useFlow.getState().add(type, { x: Math.round(at.x / 10) * 10, y: Math.round(at.y / 10) * 10 })
  }, [canvas])

  return (
    <section className={`canvas${wiring ? ' wiring' : ''}${far ? ' far' : ''}`} aria-label="Canvas" onDragOver={(e) => e.preventDefault()} onDrop={onDrop}
      onDoubleClick={(e) => {
        const on = e.target as Element
        if (on.classList.contains('react-flow__pane')) useUi.getState().set({ quickAdd: { screen: { x: e.clientX, y: e.clientY }, exact: true } })
        else if (on.closest('.react-flow__node-card, .react-flow__node-pill')) useUi.getState().set({ inspector: true })
      }}>
      <Far value={far}>
      <ReactFlow<CanvasNode, Wire> nodes={nodes} edges={far ? NO_EDGES : edges} nodeTypes={NODE_TYPES} edgeTypes={EDGE_TYPES} onNodesChange={onNodes} onEdgesChange={onEdges}
        onConnect={onConnect} onConnectStart={onConnectStart} onConnectEnd={onConnectEnd} onNodeClick={onNodeClick} onMoveStart={(event) => { if (event) whole.current = false }} isValidConnection={isValid}
        onNodeDragStart={beginGesture} onNodeDragStop={endGesture} onSelectionDragStart={beginGesture} onSelectionDragStop={endGesture}
        deleteKeyCode={null} multiSelectionKeyCode={MORE_KEYS} selectionMode={SelectionMode.Partial} zoomOnDoubleClick={false} snapToGrid snapGrid={GRID} fitView fitViewOptions={FIT} {...(nodes.length > MANY ? { defaultViewport: SMALL } : {})} minZoom={0.08} maxZoom={2}
        onlyRenderVisibleElements={nodes.length > MANY && !far} colorMode={theme === 'auto' ? 'system' : theme} elevateNodesOnSelect={false} connectionRadius={28}>
        <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
        <Controls showInteractive={false} onFitView={() => { whole.current = true }} fitViewOptions={FIT} position="bottom-left">
          <ControlButton onClick={() => void tidy()} title="Tidy (L)" aria-label="Tidy"><Icon name="tidy" /></ControlButton>
        </Controls>
        {nodes.length > MAP_FROM && <MiniMap<CanvasNode> pannable zoomable nodeClassName={miniClass} ariaLabel="Overview of the flow" />}
        {far && <FarWires />}
        <QuickAdd />
        <FindNode />
      </ReactFlow>
      </Far>
      {dragging && <div className="drag-shield" />}
      {nodes.length === 0 && <Empty />}
    </section>
  )
}

function Empty() {
  return (
    <div className="canvas-empty">
      <p>An empty flow. Add an input, an agent and an output, and join them.</p>
      <button type="button" className="primary" onClick={() => useUi.getState().set({ quickAdd: { screen: { x: innerWidth / 2 - 150, y: innerHeight / 3 } } })}><Icon name="plus" /> Add a node <kbd>/</kbd></button>
    </div>
  )
}

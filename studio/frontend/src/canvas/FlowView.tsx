// A flow to look at: as it was at a run, with what happened on each node. Nothing can be changed.
import { Background, BackgroundVariant, Controls, type NodeChange, type NodeProps, type NodeTypes, ReactFlow, ReactFlowProvider, useNodesInitialized, useReactFlow } from '@xyflow/react'
import { memo, useCallback, useEffect, useMemo, useState } from 'react'
import { api } from '../api/client'
import type { Card as CardText, FlowDoc } from '../api/types'
import { useLoad } from '../app/useLoad'
import { useCatalog } from '../state/catalog'
import { type CanvasNode, type CardNode, readFlow } from '../state/document'
import { messagePorts, portsOf } from '../state/ports'
import type { NodeLive } from '../state/run'
import { useUi } from '../state/ui'
import { Card, Pill } from './Card'
import { type Size, layout } from './layout'
import { Wired, wiredPorts } from './ports'
import { FIT } from './spot'
import { WireView } from './WireView'

type Seen = CardNode & { data: { live?: NodeLive; wired: ReadonlySet<string>; card?: CardText } }

function props({ id, data, selected }: NodeProps<Seen>, types: ReturnType<typeof useCatalog.getState>['types']) {
  const node = { id, type: 'card', data, position: { x: 0, y: 0 } } as CardNode
  return {
    id, typeName: data.type, type: types[data.type], card: data.card, gauge: undefined, errors: 0, warnings: 0, live: data.live, selected: !!selected,
    inputs: portsOf(node, 'inputs', types, data.card, []), outputs: portsOf(node, 'outputs', types, data.card, []),
  }
}
const SeenCard = memo(function SeenCard(p: NodeProps<Seen>) {
  return <Wired value={p.data.wired}><Card {...props(p, useCatalog((s) => s.types))} /></Wired>
})
const SeenPill = memo(function SeenPill(p: NodeProps<Seen>) {
  return <Wired value={p.data.wired}><Pill {...props(p, useCatalog((s) => s.types))} /></Wired>
})
const SeenNote = memo(function SeenNote({ data }: NodeProps) {
  return <div className="note"><div className="note-text">{String(data.text ?? '')}</div></div>
})
const SeenFrame = memo(function SeenFrame({ data }: NodeProps) {
  return <div className="frame-box"><div className="frame-title">{String(data.title ?? '')}</div></div>
})
const NODE_TYPES = { card: SeenCard, pill: SeenPill, note: SeenNote, frame: SeenFrame } as unknown as NodeTypes
const EDGE_TYPES = { wire: WireView } as never


interface Props {
  flow: FlowDoc
  nodes: Record<string, NodeLive>
  selected: string | null
  onSelect(id: string | null): void
}

export function FlowView(p: Props) {
  return <ReactFlowProvider><View {...p} /></ReactFlowProvider>
}

function View({ flow, nodes: lives, selected, onSelect }: Props) {
  const types = useCatalog((s) => s.types)
  const theme = useUi((s) => s.theme)
  const canvas = useReactFlow()
  const ready = useNodesInitialized()
  const read = useMemo(() => readFlow(flow, types), [flow, types])
  // Only the validator knows what a card says, and the ports that its settings give it: a router's branches.
  const told = useLoad(() => api.validate(flow, null), read.meta.id ?? read.meta.name)
  const cards = told.data?.cards
  const [places, setPlaces] = useState<Record<string, { x: number; y: number }>>({})
  const [sizes, setSizes] = useState<Record<string, Size>>({})
  const measure = useCallback((changes: NodeChange[]) => {
    const found = changes.flatMap((change) => (change.type === 'dimensions' && change.dimensions ? [[change.id, change.dimensions] as const] : []))
    if (found.length) setSizes((known) => ({ ...known, ...Object.fromEntries(found) }))
  }, [])
  useEffect(() => {
    // What is docked below a card must know how high it is.
    if (read.placed || told.loading || !read.nodes.every((node) => sizes[node.id])) return
    let current = true
    void layout(read.nodes.map((node) => ({ ...node, measured: sizes[node.id] }) as CanvasNode), read.edges, messagePorts(read.nodes, read.edges, types, cards ?? {})).then((found) => { if (current) setPlaces(found) })
    return () => { current = false }
  }, [read, told.loading, sizes, types, cards])
  useEffect(() => {
    if (ready) void canvas.fitView(FIT)
  }, [ready, canvas, places, cards])
  const nodes = useMemo(
    () => read.nodes.map((node) => ({ ...node, measured: sizes[node.id], position: places[node.id] ?? node.position, selected: node.id === selected, data: { ...node.data, live: lives[node.id], card: cards?.[node.id], wired: new Set(wiredPorts(node.id, read.edges).split('\n')) } }) as CanvasNode),
    [read, lives, selected, places, cards, sizes],
  )
  return (
    <section className="canvas seen" aria-label="The flow as it was at this run">
      <ReactFlow nodes={nodes} edges={read.edges} nodeTypes={NODE_TYPES} edgeTypes={EDGE_TYPES} onNodesChange={measure} nodesDraggable={false} nodesConnectable={false} deleteKeyCode={null} minZoom={0.08}
        onNodeClick={(_e, node) => onSelect(node.id)} onPaneClick={() => onSelect(null)} fitView fitViewOptions={FIT} colorMode={theme === 'auto' ? 'system' : theme}>
        <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  )
}

// Nodes of the open flow: each reads only what it shows, so that one change draws one node.
import { NodeResizer, type NodeProps } from '@xyflow/react'
import { memo, useContext, useRef } from 'react'
import { useShallow } from 'zustand/react/shallow'
import type { NodeType } from '../api/types'
import { filled } from '../app/GaugeBar'
import { useCatalog } from '../state/catalog'
import type { CardNode, NoteNode, Wire } from '../state/document'
import { useFlow } from '../state/flow'
import type { FrameNode } from '../state/frames'
import { portsOf } from '../state/ports'
import { useRun } from '../state/run'
import { isError, problemsOf, useValidation } from '../state/validation'
import { Card, Pill } from './Card'
import { FarCard } from './FarCard'
import { Far, NO_PORTS, Wired, useWiring } from './ports'

const NOTHING: never[] = []

type Props = NodeProps<CardNode>

function useCardProps({ id, data, selected }: Props, type: NodeType | undefined, drawn: Wire[]) {
  const card = useValidation((s) => s.cards[id])
  const problems = useValidation(problemsOf(id))
  const live = useRun((s) => s.nodes[id])
  const gauge = useRun((s) => Object.values(s.gauges).find((each) => each.node_id === id))
  const node = { id, type: 'card', data, position: { x: 0, y: 0 } } as CardNode
  const types = type ? { [data.type]: type } : {}
  return {
    id, typeName: data.type, type, card, live, gauge, selected: !!selected,
    inputs: portsOf(node, 'inputs', types, card, drawn), outputs: portsOf(node, 'outputs', types, card, drawn),
    errors: problems.filter(isError).length, warnings: problems.filter((p) => !isError(p)).length,
  }
}

function Shown({ node, type, drawn }: { node: Props; type: NodeType | undefined; drawn: Wire[] }) {
  const props = useCardProps(node, type, drawn)
  const wired = useWiring((s) => s.wired.get(node.id) ?? NO_PORTS)
  const far = useContext(Far)
  const height = useRef<number>(undefined)
  if (!far && node.height) height.current = node.height // 0 until it was measured
  const pill = node.type === 'pill'
  if (far) return <FarCard {...props} pill={pill} wired={wired} level={props.gauge ? filled(props.gauge).level : ''} height={height.current} />
  return <Wired value={wired}>{pill ? <Pill {...props} /> : <Card {...props} />}</Wired>
}

/** A type that is not installed has the ports that its edges name. */
function Unknown({ node }: { node: Props }) {
  const drawn = useFlow(useShallow((s) => s.edges.filter((e) => e.source === node.id || e.target === node.id)))
  return <Shown node={node} type={undefined} drawn={drawn} />
}

export const CardNodeView = memo(function CardNodeView(props: Props) {
  const type = useCatalog((s) => s.types[props.data.type])
  return type ? <Shown node={props} type={type} drawn={NOTHING} /> : <Unknown node={props} />
})

const { beginGesture, endGesture, setNote, setFrame } = useFlow.getState()

export const FrameNodeView = memo(function FrameNodeView({ id, data, selected }: NodeProps<FrameNode>) {
  return (
    <div className={selected ? 'frame-box selected' : 'frame-box'}>
      <NodeResizer isVisible={!!selected} minWidth={160} minHeight={100} onResizeStart={beginGesture} onResizeEnd={endGesture} />
      <div className="frame-title"><input className="nodrag" dir="auto" value={data.title} aria-label="Name of the group" onChange={(e) => setFrame(id, e.target.value)} /></div>
    </div>
  )
})

export const NoteNodeView = memo(function NoteNodeView({ id, data, selected }: NodeProps<NoteNode>) {
  return (
    <div className={selected ? 'note selected' : 'note'}>
      <NodeResizer isVisible={!!selected} minWidth={120} minHeight={60} onResizeStart={beginGesture} onResizeEnd={endGesture} />
      <div className="note-grip" aria-hidden />
      <textarea className="nodrag nowheel" dir="auto" value={data.text} placeholder="A note" aria-label="Note" onChange={(e) => setNote(id, e.target.value)} />
    </div>
  )
})

// Nodes of the open flow: each reads only what it shows, so that one change draws one node.
import { NodeResizer, type NodeProps } from '@xyflow/react'
import { type ReactNode, memo, useMemo } from 'react'
import { useShallow } from 'zustand/react/shallow'
import { useCatalog } from '../state/catalog'
import type { CardNode, NoteNode, Wire } from '../state/document'
import { useFlow } from '../state/flow'
import type { FrameNode } from '../state/frames'
import { portsOf } from '../state/ports'
import { useRun } from '../state/run'
import { isError, problemsOf, useValidation } from '../state/validation'
import { Card, Pill, Wired, wiredPorts } from './Card'

const NOTHING: never[] = []

function useCardProps({ id, data, selected }: NodeProps<CardNode>) {
  const type = useCatalog((s) => s.types[data.type])
  const card = useValidation((s) => s.cards[id])
  const problems = useValidation(problemsOf(id))
  const live = useRun((s) => s.nodes[id])
  const gauge = useRun((s) => Object.values(s.gauges).find((each) => each.node_id === id))
  // A type that is not installed has the ports that its edges name.
  const drawn = useFlow(useShallow((s) => (type ? NOTHING : s.edges.filter((e) => e.source === id || e.target === id))))
  const node = { id, type: 'card', data, position: { x: 0, y: 0 } } as CardNode
  const types = type ? { [data.type]: type } : {}
  return {
    id, typeName: data.type, type, card, live, gauge, selected: !!selected,
    inputs: portsOf(node, 'inputs', types, card, drawn), outputs: portsOf(node, 'outputs', types, card, drawn),
    errors: problems.filter(isError).length, warnings: problems.filter((p) => !isError(p)).length,
  }
}

/** Edges by node, made anew only when the edges change: 400 nodes must not look through 400 edges each. */
let index: { of: readonly Wire[]; wired: Map<string, string> } = { of: [], wired: new Map() }

function wiredOf(id: string, edges: readonly Wire[]): string {
  if (index.of !== edges) {
    const ends = new Map<string, Wire[]>()
    for (const edge of edges) for (const end of [edge.source, edge.target]) ends.set(end, [...(ends.get(end) ?? []), edge])
    index = { of: edges, wired: new Map([...ends].map(([node, own]) => [node, wiredPorts(node, own)])) }
  }
  return index.wired.get(id) ?? ''
}

function WithWires({ id, children }: { id: string; children: ReactNode }) {
  const text = useFlow((s) => wiredOf(id, s.edges))
  const wired = useMemo(() => new Set(text.split('\n')), [text])
  return <Wired value={wired}>{children}</Wired>
}

export const CardNodeView = memo(function CardNodeView(props: NodeProps<CardNode>) {
  return <WithWires id={props.id}><Card {...useCardProps(props)} /></WithWires>
})

export const PillNodeView = memo(function PillNodeView(props: NodeProps<CardNode>) {
  return <WithWires id={props.id}><Pill {...useCardProps(props)} /></WithWires>
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

// All edges from far off, as one drawing: hundreds of single ones would each be measured and drawn at every move.
import { Position, ViewportPortal, getBezierPath } from '@xyflow/react'
import { useMemo, useRef } from 'react'
import type { Card, NodeType, PortKind } from '../api/types'
import { useCatalog } from '../state/catalog'
import { type CanvasNode, type CardNode, type Wire, isCard } from '../state/document'
import { useFlow } from '../state/flow'
import { boxOf } from '../state/frames'
import { useRun } from '../state/run'
import { useValidation } from '../state/validation'
import { portAbove } from './FarCard'
import { isAttachment } from './ports'

export interface Drawn {
  kind: PortKind
  live: boolean
  path: string
}

type Types = Readonly<Record<string, NodeType>>
type Cards = Readonly<Record<string, Card>>

function end(node: CardNode, side: 'inputs' | 'outputs', port: string | null | undefined, kind: PortKind, types: Types, cards: Cards) {
  const box = boxOf(node)
  if (kind !== 'message') return { x: box.x + box.width / 2, y: side === 'outputs' ? box.y : box.y + box.height }
  const type = types[node.data.type]
  const ports = cards[node.id]?.[side] ?? type?.[side] ?? []
  return { x: side === 'outputs' ? box.x + box.width : box.x, y: box.y + box.height - portAbove(ports, port, !!type?.inputs.some(isAttachment)) }
}

/** One path for each kind of edge, and for those whose target runs. */
export function drawWires(nodes: readonly CanvasNode[], edges: readonly Wire[], types: Types, cards: Cards, running: ReadonlySet<string>): Drawn[] {
  const byId = new Map(nodes.filter(isCard).map((node) => [node.id, node]))
  const found = new Map<string, Drawn>()
  for (const edge of edges) {
    const source = byId.get(edge.source)
    const target = byId.get(edge.target)
    if (!source || !target) continue
    const kind = edge.data?.kind ?? 'message'
    const live = kind === 'message' && running.has(edge.target)
    const from = end(source, 'outputs', edge.sourceHandle, kind, types, cards)
    const to = end(target, 'inputs', edge.targetHandle, kind, types, cards)
    const [path] = getBezierPath({
      sourceX: from.x, sourceY: from.y, sourcePosition: kind === 'message' ? Position.Right : Position.Top,
      targetX: to.x, targetY: to.y, targetPosition: kind === 'message' ? Position.Left : Position.Bottom,
    })
    const of = found.get(`${kind} ${live}`)
    if (of) of.path += path
    else found.set(`${kind} ${live}`, { kind, live, path })
  }
  return [...found.values()]
}

/** The nodes that follow the pointer, and those that they carry along. */
const following = ({ gesture, nodes, rev }: ReturnType<typeof useFlow.getState>): string =>
  !gesture || gesture.rev === rev ? '' : nodes.flatMap((node, i) => (gesture.nodes[i]?.position === node.position ? [] : [node.id])).join('\n')

export function FarWires() {
  const nodes = useFlow((s) => s.nodes)
  const edges = useFlow((s) => s.edges)
  const types = useCatalog((s) => s.types)
  const cards = useValidation((s) => s.cards)
  const running = useRun((s) => Object.entries(s.nodes).flatMap(([id, node]) => (node.state === 'running' ? [id] : [])).join('\n'))
  const moving = useFlow(following)
  // What does not move is drawn apart, and not drawn again at every step.
  const before = useRef(nodes)
  if (!moving) before.current = nodes
  const settled = before.current
  const [still, loose] = useMemo(() => parted(edges, new Set(moving.split('\n'))), [edges, moving])
  const live = useMemo(() => new Set(running.split('\n')), [running])
  const fixed = useMemo(() => drawWires(settled, still, types, cards, live), [settled, still, types, cards, live])
  return (
    <ViewportPortal>
      <Paths drawn={fixed} />
      {loose.length > 0 && <Paths drawn={drawWires(nodes, loose, types, cards, live)} />}
    </ViewportPortal>
  )
}

export function parted(edges: readonly Wire[], moving: ReadonlySet<string>): [Wire[], Wire[]] {
  const still: Wire[] = []
  const loose: Wire[] = []
  for (const edge of edges) (moving.has(edge.source) || moving.has(edge.target) ? loose : still).push(edge)
  return [still, loose]
}

function Paths({ drawn }: { drawn: readonly Drawn[] }) {
  return (
    <svg className="far-wires" aria-hidden>
      {drawn.map((each) => <path key={`${each.kind} ${each.live}`} d={each.path} className={each.live ? 'live' : each.kind === 'message' ? 'message' : 'attachment'} data-kind={each.kind} />)}
    </svg>
  )
}

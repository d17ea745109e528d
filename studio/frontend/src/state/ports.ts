// Which ports a node has, and which may be joined. Ports come from the server: the type's, or the card's.
import type { Card, NodeType, Port, PortKind } from '../api/types'
import { type CardNode, type Catalog, type CanvasNode, type Wire, isCard } from './document'

export type Side = 'inputs' | 'outputs'

/** A node's ports on one side. A type that nobody knows has the ports that its edges name. */
export function portsOf(node: CardNode, side: Side, catalog: Catalog, card: Card | undefined, edges: readonly Wire[]): Port[] {
  const type = catalog[node.data.type]
  if (type) return card?.[side] ?? type[side]
  const found = new Map<string, PortKind>()
  for (const edge of edges) {
    if (side === 'inputs' && edge.target === node.id) found.set(edge.targetHandle ?? 'in', edge.data?.kind ?? 'message')
    if (side === 'outputs' && edge.source === node.id) found.set(edge.sourceHandle ?? 'out', edge.data?.kind ?? 'message')
  }
  return [...found].map(([name, kind]) => ({ name, kind }))
}

export interface Ends {
  source: string
  sourceHandle: string | null | undefined
  target: string
  targetHandle: string | null | undefined
}

export interface Lookup {
  port(id: string, side: Side, name: string | null | undefined): Port | undefined
}

export function lookup(nodes: readonly CanvasNode[], edges: readonly Wire[], catalog: Catalog, cards: Record<string, Card>): Lookup {
  const byId = new Map(nodes.filter(isCard).map((node) => [node.id, node]))
  return {
    port(id, side, name) {
      const node = byId.get(id)
      return node && portsOf(node, side, catalog, cards[id], edges).find((port) => port.name === name)
    },
  }
}

/** The kind of the edge that these ends would make; null where they do not fit. */
export function fits(ends: Ends, ports: Lookup): PortKind | null {
  if (ends.source === ends.target) return null
  const out = ports.port(ends.source, 'outputs', ends.sourceHandle)
  const into = ports.port(ends.target, 'inputs', ends.targetHandle)
  return out && into && out.kind === into.kind ? out.kind : null
}

/** Why two ends do not fit, for who joined them; null where they do. */
export function misfit(from: { node: string; side: Side; name: string }, to: { node: string; side: Side; name: string }, ports: Lookup): string | null {
  const kind = ports.port(from.node, from.side, from.name)?.kind
  const other = ports.port(to.node, to.side, to.name)?.kind
  if (from.node === to.node) return 'A node is not joined to itself.'
  if (from.side === to.side) return from.side === 'outputs' ? 'Both of these send. An edge goes into a port that takes.' : 'Both of these take. An edge comes from a port that sends.'
  if (!kind || !other || kind === other) return null
  return from.side === 'outputs' ? `${to.name} of ${to.node} takes ${other}, and this sends ${kind}.` : `${to.name} of ${to.node} sends ${other}, and this takes ${kind}.`
}

/** The port of a node for an edge that was let go on it: the first that fits, of those that take rather one that has no edge
 * yet; null where none fits. */
export function portFor(node: CardNode, from: { side: Side; kind: string }, catalog: Catalog, card: Card | undefined, edges: readonly Wire[]): string | null {
  const side = from.side === 'outputs' ? 'inputs' : 'outputs'
  const fit = portsOf(node, side, catalog, card, edges).filter((port) => port.kind === from.kind)
  const taken = (name: string) => side === 'inputs' && edges.some((edge) => edge.target === node.id && edge.targetHandle === name)
  return (fit.find((port) => !taken(port.name)) ?? fit[0])?.name ?? null
}

/** Types with a port that an open end could go to, with that port. */
export function fitting(types: readonly NodeType[], kind: PortKind, side: Side): { type: NodeType; port: Port }[] {
  return types.flatMap((type) => {
    const port = type[side].find((each) => each.kind === kind)
    return port ? [{ type, port }] : []
  })
}

/** Asked for the names of a node's ports for messages, as they stand on its card. */
export function messagePorts(nodes: readonly CanvasNode[], edges: readonly Wire[], catalog: Catalog, cards: Record<string, Card>): (id: string, side: Side) => string[] {
  const byId = new Map(nodes.filter(isCard).map((node) => [node.id, node]))
  return (id, side) => {
    const node = byId.get(id)
    return node ? portsOf(node, side, catalog, cards[id], edges).flatMap((port) => (port.kind === 'message' ? [port.name] : [])) : []
  }
}

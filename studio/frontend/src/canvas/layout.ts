// Tidy: message nodes in layers from left to right, attachments below what they govern. The library loads when asked for.
import { type CanvasNode, type Wire, isCard } from '../state/document'

export interface Size {
  width: number
  height: number
}

export type Places = Record<string, { x: number; y: number }>

const CARD: Size = { width: 220, height: 96 }
const PILL: Size = { width: 180, height: 44 }
const GAP = 12
const BELOW = 60
const GRID = 10

const snap = (n: number) => Math.round(n / GRID) * GRID
const sizeOf = (node: CanvasNode): Size => ({
  width: node.measured?.width ?? node.width ?? (node.type === 'pill' ? PILL.width : CARD.width),
  height: node.measured?.height ?? node.height ?? (node.type === 'pill' ? PILL.height : CARD.height),
})

/** In the order of the ports at a card's lower edge, so that their edges do not cross. */
const KINDS = ['memory', 'budget', 'tool']

/** Whose pills stand below which card: a pill goes to the first card that it is attached to. */
export function docks(nodes: readonly CanvasNode[], edges: readonly Wire[]): Map<string, CanvasNode[]> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const found = new Map<string, CanvasNode[]>()
  const kind = (node: CanvasNode) => KINDS.indexOf(edges.find((edge) => edge.source === node.id)?.data?.kind ?? '')
  for (const pill of nodes.filter((node) => node.type === 'pill').sort((a, b) => kind(a) - kind(b))) {
    const target = edges.find((edge) => edge.source === pill.id && byId.get(edge.target)?.type === 'card')?.target ?? ''
    found.set(target, [...(found.get(target) ?? []), pill])
  }
  return found
}

/** Pills of one card: side by side, two in a row. */
function rows(pills: readonly CanvasNode[]): CanvasNode[][] {
  const found: CanvasNode[][] = []
  for (let i = 0; i < pills.length; i += 2) found.push(pills.slice(i, i + 2))
  return found
}

const widthOf = (row: readonly CanvasNode[]) => row.reduce((sum, pill) => sum + sizeOf(pill).width, 0) + GAP * (row.length - 1)
const heightOf = (row: readonly CanvasNode[]) => Math.max(...row.map((pill) => sizeOf(pill).height))

function block(card: CanvasNode, pills: readonly CanvasNode[]): Size {
  const size = sizeOf(card)
  const below = rows(pills)
  if (!below.length) return size
  return {
    width: Math.max(size.width, ...below.map(widthOf)),
    height: size.height + BELOW + below.reduce((sum, row) => sum + heightOf(row) + GAP, 0),
  }
}

export async function layout(nodes: readonly CanvasNode[], edges: readonly Wire[]): Promise<Places> {
  const dagre = await import('@dagrejs/dagre')
  const graph = new dagre.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 40, ranksep: 90, marginx: 0, marginy: 0 })
  graph.setDefaultEdgeLabel(() => ({}))
  const docked = docks(nodes, edges)
  const cards = nodes.filter((node) => isCard(node) && node.type === 'card')
  for (const card of cards) graph.setNode(card.id, { ...block(card, docked.get(card.id) ?? []) })
  for (const edge of edges) if (graph.hasNode(edge.source) && graph.hasNode(edge.target)) graph.setEdge(edge.source, edge.target, {}, edge.id)
  dagre.layout(graph)
  const places: Places = {}
  let bottom = 0
  for (const card of cards) {
    const { x, y, width, height } = graph.node(card.id) as { x: number; y: number; width: number; height: number }
    const size = sizeOf(card)
    // Cards without pills keep their heads in line with those that have some.
    const top = docked.has(card.id) ? y - height / 2 : y - size.height / 2
    places[card.id] = { x: snap(x - size.width / 2), y: snap(top) }
    bottom = Math.max(bottom, y + height / 2)
    stack(places, docked.get(card.id) ?? [], x - width / 2 + width / 2, top + size.height + BELOW)
  }
  stack(places, docked.get('') ?? [], PILL.width, bottom + BELOW)
  return places
}

function stack(places: Places, pills: readonly CanvasNode[], middle: number, top: number): void {
  let y = top
  for (const row of rows(pills)) {
    let x = middle - widthOf(row) / 2
    for (const pill of row) {
      places[pill.id] = { x: snap(x), y: snap(y) }
      x += sizeOf(pill).width + GAP
    }
    y += heightOf(row) + GAP
  }
}

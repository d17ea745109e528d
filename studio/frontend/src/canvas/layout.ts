// Tidy: message nodes in layers from left to right, attachments below what they govern. The library loads when asked for.
import { type CanvasNode, type Wire, isCard } from '../state/document'
import { type Link, ordered } from './order'

export interface Size {
  width: number
  height: number
}

/** Names of a node's ports for messages, from top to bottom. */
export type PortNames = (id: string, side: 'inputs' | 'outputs') => readonly string[]

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

export async function layout(nodes: readonly CanvasNode[], edges: readonly Wire[], names: PortNames = () => []): Promise<Places> {
  const docked = docks(nodes, edges)
  const cards = nodes.filter((node) => isCard(node) && node.type === 'card')
  const ids = new Set(cards.map((card) => card.id))
  const wires = edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target))
  const joined = new Set(wires.flatMap((edge) => [edge.source, edge.target]))
  const pillsOf = (card: CanvasNode) => docked.get(card.id) ?? []
  const places: Places = {}
  const put = (card: CanvasNode, middle: number, top: number) => {
    const size = sizeOf(card)
    places[card.id] = { x: snap(middle - size.width / 2), y: snap(top) }
    stack(places, pillsOf(card), middle, top + size.height + BELOW)
  }
  const bottom = await layers(cards.filter((card) => joined.has(card.id)), wires, pillsOf, put, names)
  // Without edges there is no order but that in which they stand.
  const apart = inReadingOrder(cards.filter((card) => !joined.has(card.id)))
  const low = grid(apart, bottom === null ? 0 : bottom + BELOW, (card) => block(card, pillsOf(card)), put)
  const loose = inReadingOrder(docked.get('') ?? [])
  grid(loose, low ?? (bottom === null ? 0 : bottom + BELOW), sizeOf, (pill, middle, top) => { places[pill.id] = { x: snap(middle - sizeOf(pill).width / 2), y: snap(top) } })
  return places
}

type Put = (card: CanvasNode, middle: number, top: number) => void

/** Cards that have edges, in layers. Where they end below; null where there are none. */
async function layers(cards: readonly CanvasNode[], wires: readonly Wire[], pillsOf: (card: CanvasNode) => readonly CanvasNode[], put: Put, names: PortNames): Promise<number | null> {
  if (!cards.length) return null
  const dagre = await import('@dagrejs/dagre')
  const graph = new dagre.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 40, ranksep: 90, marginx: 0, marginy: 0 })
  graph.setDefaultEdgeLabel(() => ({}))
  // The library goes through them in this order, and turns the edge round that closes a circle: not one that leads into it.
  const entered = new Set(wires.map((wire) => wire.target))
  const entries = cards.filter((card) => !entered.has(card.id))
  for (const card of [...entries, ...cards.filter((each) => entered.has(each.id))]) graph.setNode(card.id, { ...block(card, pillsOf(card)) })
  for (const edge of wires) graph.setEdge(edge.source, edge.target, {}, edge.id)
  dagre.layout(graph, {
    customOrder(layered, byDefault) {
      byDefault(layered, {})
      inOrderOfPorts(layered as unknown as Layered, wires, names)
    },
  })
  let bottom = 0
  for (const card of cards) {
    const { x, y, height } = graph.node(card.id) as { x: number; y: number; height: number }
    // Cards without pills keep their heads in line with those that have some.
    put(card, x, pillsOf(card).length ? y - height / 2 : y - sizeOf(card).height / 2)
    bottom = Math.max(bottom, y + height / 2)
  }
  return bottom
}

interface LayeredNode {
  rank?: number
  order: number
  /** Stands for a part of an edge that goes over several layers. */
  dummy?: string
  edgeObj?: { name?: string }
  edgeLabel?: LayeredEdge
}

interface LayeredEdge {
  /** Went backwards, and was turned round. */
  reversed?: boolean
  forwardName?: string
}

/** What the library calls its graph once every edge goes from one layer to the next. */
interface Layered {
  nodes(): string[]
  edges(): { v: string; w: string; name?: string }[]
  node(id: string): LayeredNode
  edge(edge: { v: string; w: string; name?: string }): LayeredEdge
}

/** Puts the nodes of each layer into the order in which fewest edges cross, from port to port. */
function inOrderOfPorts(graph: Layered, wires: readonly Wire[], names: PortNames): void {
  const byId = new Map(wires.map((wire) => [wire.id, wire]))
  const place = (id: string, side: 'inputs' | 'outputs', name: string | null | undefined) => {
    const all = names(id, side)
    return name && all.includes(name) ? (all.indexOf(name) + 1) / (all.length + 1) : 0.5
  }
  const links = graph.edges().map((edge): Link => {
    const [from, to] = [graph.node(edge.v), graph.node(edge.w)]
    const part = from.dummy ? from : to.dummy ? to : null
    const { reversed, forwardName } = (part ? part.edgeLabel : graph.edge(edge)) ?? {}
    const wire = byId.get(forwardName ?? (part ? part.edgeObj?.name : edge.name) ?? '')
    const leaves = wire && place(wire.source, 'outputs', wire.sourceHandle)
    const comes = wire && place(wire.target, 'inputs', wire.targetHandle)
    return {
      from: edge.v, to: edge.w,
      out: from.dummy ? 0.5 : (reversed ? comes : leaves) ?? 0.5,
      into: to.dummy ? 0.5 : (reversed ? leaves : comes) ?? 0.5,
    }
  })
  const layers: string[][] = []
  for (const id of graph.nodes()) {
    const { rank } = graph.node(id)
    if (rank !== undefined) (layers[rank] ??= []).push(id)
  }
  const standing = Array.from(layers, (layer) => (layer ?? []).sort((a, b) => graph.node(a).order - graph.node(b).order))
  for (const layer of ordered(standing, links)) layer.forEach((id, order) => { graph.node(id).order = order })
}

/** As one reads a page: what stands at about one height is a row, from left to right. */
export function inReadingOrder(nodes: readonly CanvasNode[]): CanvasNode[] {
  const lines: { bottom: number; nodes: CanvasNode[] }[] = []
  for (const node of [...nodes].sort((a, b) => a.position.y - b.position.y)) {
    const middle = node.position.y + sizeOf(node).height / 2
    const line = lines.at(-1)
    if (line && node.position.y < line.bottom) line.nodes.push(node)
    else lines.push({ bottom: middle, nodes: [node] })
  }
  return lines.flatMap((line) => line.nodes.sort((a, b) => a.position.x - b.position.x))
}

const ROW = 5

/** Rows of columns that line up: few stand side by side, many about twice as wide as high. Where they end below; null where there are none. */
function grid(nodes: readonly CanvasNode[], top: number, size: (node: CanvasNode) => Size, put: Put): number | null {
  if (!nodes.length) return null
  const columns = nodes.length <= ROW ? nodes.length : Math.max(3, Math.ceil(Math.sqrt(nodes.length * 1.5)))
  const width = Math.max(...nodes.map((node) => size(node).width))
  let y = top
  for (let i = 0; i < nodes.length; i += columns) {
    const row = nodes.slice(i, i + columns)
    row.forEach((node, column) => put(node, column * (width + BELOW) + width / 2, y))
    y += Math.max(...row.map((node) => size(node).height)) + BELOW
  }
  return y
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

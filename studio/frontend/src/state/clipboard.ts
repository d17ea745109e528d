// Nodes and the edges among them as JSON text for the clipboard, and back with new ids.
import type { EdgeDoc, FlowDoc, NodeDoc, Obj } from '../api/types'
import { type CanvasNode, type Catalog, type Graph, freshId, isCard, isNote, makeCard, makeNote, makeWire, writeFlow } from './document'

const MARK = 'farthing.part/1'

/** The selected nodes with the edges among them; null where nothing is selected. */
export function copyText(graph: Graph, catalog: Catalog): string | null {
  const nodes = graph.nodes.filter((node) => node.selected)
  if (!nodes.length) return null
  const ids = new Set(nodes.map((node) => node.id))
  const edges = graph.edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target))
  const part = writeFlow({ nodes, edges }, { name: '', description: '' }, catalog)
  return JSON.stringify({ format: MARK, nodes: part.nodes, edges: part.edges, ui: part.ui ?? {} }, null, 2)
}

interface Part {
  nodes: NodeDoc[]
  edges: EdgeDoc[]
  notes: Obj[]
}

const CARD = { width: 220, height: 110 }
const boxOf = (node: CanvasNode) => ({ ...node.position, width: node.measured?.width ?? CARD.width, height: node.measured?.height ?? CARD.height })

/** A part, or a whole flow document; null for any other text. */
export function readPart(text: string): Part | null {
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    return null
  }
  const doc = found as FlowDoc
  if (typeof found !== 'object' || found === null || !Array.isArray(doc.nodes)) return null
  if (doc.format !== MARK && !String(doc.format).startsWith('farthing.flow/')) return null
  const nodes = doc.nodes.filter((node) => typeof node?.id === 'string' && typeof node.type === 'string')
  const edges = (Array.isArray(doc.edges) ? doc.edges : []).filter((e) => typeof e?.source === 'string' && typeof e.target === 'string')
  return { nodes, edges, notes: Array.isArray(doc.ui?.notes) ? (doc.ui.notes as Obj[]) : [] }
}

const STEP = 40
const MOST_STEPS = 400

/** By how much copies are moved from where they came from, so that none lies on a node; a copy of a copy neither. */
function free(spots: readonly { x: number; y: number }[], nodes: readonly CanvasNode[]): { x: number; y: number } {
  const boxes = nodes.filter((node) => node.type !== 'frame').map(boxOf)
  const lies = (dy: number) => spots.some(({ x, y }) => boxes.some((box) => x + STEP < box.x + box.width && box.x < x + STEP + CARD.width && y + dy < box.y + box.height && box.y < y + dy + CARD.height))
  let dy = STEP
  for (let i = 0; i < MOST_STEPS && lies(dy); i += 1) dy += STEP
  return { x: STEP, y: dy }
}

/** The part as new, selected nodes beside those that are there; edges follow the new ids. */
export function pasted(part: Part, graph: Graph, catalog: Catalog, at?: { x: number; y: number }): Graph {
  const taken = new Set(graph.nodes.map((node) => node.id))
  const renamed = new Map<string, string>()
  const spots = [...part.nodes.map((n) => n.ui ?? {}), ...part.notes].map((ui) => ({ x: Number(ui.x ?? 0), y: Number(ui.y ?? 0) }))
  const left = Math.min(...spots.map((s) => s.x))
  const top = Math.min(...spots.map((s) => s.y))
  const shift = at ? { x: at.x - left, y: at.y - top } : free(spots, graph.nodes)
  const moved = (ui: Obj | undefined) => ({ x: Number(ui?.x ?? 0) + shift.x, y: Number(ui?.y ?? 0) + shift.y })
  const nodes: CanvasNode[] = part.nodes.map((doc) => {
    const id = freshId(taken, doc.id)
    taken.add(id)
    renamed.set(doc.id, id)
    return { ...makeCard({ ...doc, id }, catalog, moved(doc.ui)), selected: true }
  })
  for (const note of part.notes) {
    const id = freshId(new Set([...taken].filter((each) => each.startsWith('note:')).map((each) => each.slice(5))), 'note')
    taken.add(`note:${id}`)
    nodes.push({ ...makeNote(id, { ...note, ...moved(note) }), selected: true })
  }
  const edges = part.edges.flatMap((edge) => {
    const source = renamed.get(edge.source)
    const target = renamed.get(edge.target)
    if (!source || !target) return []
    const types = new Map(part.nodes.map((doc) => [doc.id, catalog[doc.type]]))
    const from = types.get(edge.source)?.outputs
    const to = types.get(edge.target)?.inputs
    const out = edge.source_port ?? from?.[0]?.name ?? 'out'
    const into = edge.target_port ?? to?.[0]?.name ?? 'in'
    return [makeWire(source, out, target, into, from?.find((p) => p.name === out)?.kind ?? to?.find((p) => p.name === into)?.kind ?? 'message')]
  })
  return { nodes, edges }
}

export const cards = (nodes: CanvasNode[]) => nodes.filter(isCard)
export const notes = (nodes: CanvasNode[]) => nodes.filter(isNote)

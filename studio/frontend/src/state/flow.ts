// The open flow: what is on the canvas, its history of changes, and the file that it came from.
import { applyEdgeChanges, applyNodeChanges, type EdgeChange, type NodeChange } from '@xyflow/react'
import { create } from 'zustand'
import type { FlowDoc, NodeType, Obj } from '../api/types'
import { useCatalog } from './catalog'
import { copyText, pasted, readPart } from './clipboard'
import {
  type CanvasNode, type Graph, type Meta, type Wire, ID_PATTERN, freshId, isCard, isFrame, makeCard, makeNote, makeWire, readFlow, writeFlow,
} from './document'
import { around, carried, makeFrame, membersOf } from './frames'
import { type History, empty, record, redo, undo } from './history'
import { type Ends, fits, lookup } from './ports'
import { useValidation } from './validation'

export interface Snapshot {
  nodes: CanvasNode[]
  edges: Wire[]
  meta: Meta
  rev: number
}

export interface Source {
  /** The file's path inside the folder; null for what was never saved. */
  path: string | null
  /** The file's hash when it was read or saved. */
  hash: string | null
  /** Where it came from if not from a file: `example:NAME`, or empty. */
  origin: string
}

interface FlowState extends Snapshot, Source {
  history: History<Snapshot>
  savedRev: number
  /** Grows with every change ever made, so that no two states share a number. */
  lastRev: number
  /** The state before a gesture that has not changed anything yet. */
  gesture: Snapshot | null
  /** What happened last, for those who hear the page instead of seeing it. */
  said: string
  loaded: boolean
  /** Counts flows that were opened here. */
  opened: number
  wantsLayout: boolean
  /** Counts layouts, so that the canvas shows what each one placed. */
  laidOut: number

  open(doc: FlowDoc, source: Source, saved: boolean): void
  close(): void
  saved(doc: FlowDoc, path: string, hash: string): void
  rebase(hash: string): void
  change(key: string, said: string, next: Partial<Pick<Snapshot, 'nodes' | 'edges' | 'meta'>>): void
  onNodes(changes: NodeChange<CanvasNode>[]): void
  onEdges(changes: EdgeChange<Wire>[]): void
  beginGesture(): void
  endGesture(): void
  connect(ends: Ends): boolean
  disconnect(id: string): void
  add(type: NodeType, position: { x: number; y: number }): string
  addNote(position: { x: number; y: number }): void
  setNote(id: string, text: string): void
  /** Put a frame around the selected nodes. */
  group(): void
  setFrame(id: string, title: string): void
  setConfig(id: string, config: Obj, field: string): void
  rename(id: string, to: string): boolean
  setMeta(meta: Partial<Meta>): void
  select(ids: readonly string[]): void
  selectAll(): void
  remove(): void
  undo(): void
  redo(): void
  copy(): string | null
  paste(text: string, at?: { x: number; y: number }): boolean
  duplicate(): void
  place(positions: Record<string, { x: number; y: number }>, first: boolean): void
}

const snapshot = ({ nodes, edges, meta, rev }: Snapshot): Snapshot => ({ nodes, edges, meta, rev })
/** The name of a flow that nobody has named. */
export const UNTITLED = 'Untitled flow'
const NEW: Meta = { name: UNTITLED, description: '' }
const START = {
  nodes: [], edges: [], meta: NEW, rev: 0, path: null, hash: null, origin: '', history: empty<Snapshot>(), savedRev: 0, lastRev: 0,
  gesture: null, said: '', loaded: false, opened: 0, wantsLayout: false, laidOut: 0,
}

/** Edges that a new one replaces: those at an input that takes only one. */
function replaced(edges: Wire[], ends: Ends, many: boolean): Wire[] {
  return many ? edges : edges.filter((edge) => edge.target !== ends.target || edge.targetHandle !== ends.targetHandle)
}

/** Templates that named the old id name the new one. */
function renamedIn(config: Obj, fields: readonly string[], from: string, to: string): Obj {
  const escaped = from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp(`\\binputs\\.${escaped}(?![\\w-])`, 'gu')
  const next = { ...config }
  for (const field of fields) {
    const value = next[field]
    if (typeof value === 'string') next[field] = value.replace(pattern, () => `inputs.${to}`)
  }
  return next
}

const relabel = (edge: Wire, from: string, to: string): Wire =>
  edge.source !== from && edge.target !== from
    ? edge
    : makeWire(
        edge.source === from ? to : edge.source, edge.sourceHandle ?? '', edge.target === from ? to : edge.target,
        edge.targetHandle ?? '', edge.data?.kind ?? 'message',
      )

export const useFlow = create<FlowState>()((set, get) => ({
  ...START,

  open(doc, source, saved) {
    const { nodes, edges, meta, placed } = readFlow(doc, useCatalog.getState().types)
    const rev = get().lastRev + 1
    set({ ...START, nodes, edges, meta, rev, lastRev: rev, savedRev: saved ? rev : -1, ...source, loaded: true, opened: get().opened + 1, wantsLayout: !placed })
  },
  close: () => set((s) => ({ ...START, lastRev: s.lastRev, opened: s.opened })),
  saved(doc, path, hash) {
    const { nodes: _n, edges: _e, name, description, ...rest } = doc
    // The server gives the id at the first save; what is on the canvas stays as it is.
    set((s) => ({ path, hash, origin: '', savedRev: s.rev, meta: { ...s.meta, name, description: description ?? '', id: rest.id } }))
  },
  rebase: (hash) => set({ hash }),

  change(key, said, next) {
    set((s) => {
      const rev = s.lastRev + 1
      return { ...next, said, rev, lastRev: rev, gesture: null, history: record(s.history, snapshot(s), key, Date.now()) }
    })
  },

  onNodes(changes) {
    const removed = changes.filter((c) => c.type === 'remove').map((c) => c.id)
    const { nodes, edges, gesture, change } = get()
    const moved = changes.some((c) => (c.type === 'position' && c.position) || (c.type === 'dimensions' && c.setAttributes && gesture))
    const applied = applyNodeChanges(changes, nodes)
    const next = moved ? carried((gesture?.nodes ?? nodes) as CanvasNode[], applied, new Set(changes.flatMap((c) => (c.type === 'position' ? [c.id] : [])))) : applied
    if (removed.length) {
      const gone = new Set(removed)
      return change('', `Deleted ${removed.length}`, { nodes: next, edges: edges.filter((e) => !gone.has(e.source) && !gone.has(e.target)) })
    }
    if (!moved) return set({ nodes: next })
    if (!gesture) return change('move', 'Moved', { nodes: next }) // arrow keys
    set((s) => {
      if (gesture.rev !== s.rev) return { nodes: next } // this gesture is on record already
      const rev = s.lastRev + 1
      return { nodes: next, rev, lastRev: rev, said: 'Moved', history: record(s.history, gesture, '', Date.now()) }
    })
  },
  onEdges(changes) {
    const next = applyEdgeChanges(changes, get().edges)
    if (changes.some((c) => c.type === 'remove')) get().change('', 'Edge removed', { edges: next })
    else set({ edges: next })
  },
  beginGesture: () => set((s) => ({ gesture: snapshot(s) })),
  endGesture: () => set({ gesture: null }),

  connect(ends) {
    const { nodes, edges, change } = get()
    const ports = lookup(nodes, edges, useCatalog.getState().types, useValidation.getState().cards)
    const kind = fits(ends, ports)
    if (!kind) return false
    const wire = makeWire(ends.source, ends.sourceHandle ?? '', ends.target, ends.targetHandle ?? '', kind)
    if (edges.some((edge) => edge.id === wire.id)) return false
    const many = ports.port(ends.target, 'inputs', ends.targetHandle)?.many ?? true
    change('', `Connected ${ends.source} to ${ends.target}`, { edges: [...replaced(edges, ends, many), wire] })
    return true
  },
  disconnect: (id) => get().change('', 'Edge removed', { edges: get().edges.filter((edge) => edge.id !== id) }),

  add(type, position) {
    const { nodes, change } = get()
    const id = freshId(new Set(nodes.map((node) => node.id)), type.name)
    const card = { ...makeCard({ id, type: type.name, config: {} }, { [type.name]: type }, position), selected: true }
    change('', `Added ${type.title} ${id}`, { nodes: [...deselected(nodes), card] })
    return id
  },
  addNote(position) {
    const { nodes, change } = get()
    const taken = new Set(nodes.filter((n) => n.type === 'note').map((n) => n.id.slice(5)))
    const note = { ...makeNote(freshId(taken, 'note'), { text: '', ...position }), selected: true }
    change('', 'Added a note', { nodes: [...deselected(nodes), note] })
  },
  setNote(id, text) {
    const nodes = get().nodes.map((n) => (n.id === id && n.type === 'note' ? { ...n, data: { ...n.data, text } } : n))
    get().change(`note:${id}`, 'Note changed', { nodes })
  },
  group() {
    const { nodes, change } = get()
    const box = around(nodes.filter((n) => n.selected && n.type !== 'frame'))
    if (!box) return
    const taken = new Set(nodes.filter(isFrame).map((n) => n.id.slice('group:'.length)))
    change('', 'Grouped', { nodes: [{ ...makeFrame(freshId(taken, 'group'), { title: 'Group', ...box }), selected: true }, ...deselected(nodes)] })
  },
  setFrame(id, title) {
    get().change(`group:${id}`, 'Group renamed', { nodes: get().nodes.map((n) => (n.id === id && isFrame(n) ? { ...n, data: { ...n.data, title } } : n)) })
  },
  setConfig(id, config, field) {
    const nodes = get().nodes.map((n) => (n.id === id && isCard(n) ? { ...n, data: { ...n.data, config } } : n))
    get().change(`config:${id}:${field}`, `Changed ${field} of ${id}`, { nodes })
  },
  rename(id, to) {
    const { nodes, edges, change } = get()
    if (id === to) return true
    if (!ID_PATTERN.test(to) || nodes.some((n) => n.id === to)) return false
    const { types } = useCatalog.getState()
    const reached = new Set(edges.filter((e) => e.source === id).map((e) => e.target))
    const next = nodes.map((n) => {
      if (!isCard(n)) return n
      if (n.id === id) return makeRenamed(n, to, types[n.data.type]?.title)
      if (!reached.has(n.id)) return n
      return { ...n, data: { ...n.data, config: renamedIn(n.data.config, types[n.data.type]?.templates ?? [], id, to) } }
    })
    change('', `Renamed ${id} to ${to}`, { nodes: next, edges: edges.map((edge) => relabel(edge, id, to)) })
    return true
  },
  setMeta: (meta) => get().change(`meta:${Object.keys(meta).join()}`, 'Changed the flow', { meta: { ...get().meta, ...meta } }),

  select(ids) {
    const wanted = new Set(ids)
    set((s) => ({
      nodes: s.nodes.map((n) => (!!n.selected === wanted.has(n.id) ? n : { ...n, selected: wanted.has(n.id) })),
      edges: s.edges.map((e) => (e.selected ? { ...e, selected: false } : e)),
    }))
  },
  selectAll: () => get().select(get().nodes.map((n) => n.id)),
  remove() {
    const { nodes, edges, change } = get()
    const gone = new Set(nodes.filter((n) => n.selected).map((n) => n.id))
    const kept = edges.filter((e) => !e.selected && !gone.has(e.source) && !gone.has(e.target))
    if (gone.size || kept.length < edges.length) change('', `Deleted ${gone.size || 'an edge'}`, { nodes: nodes.filter((n) => !gone.has(n.id)), edges: kept })
  },
  undo: () => set((s) => step(undo(s.history, snapshot(s)), 'Undone')),
  redo: () => set((s) => step(redo(s.history, snapshot(s)), 'Redone')),
  copy: () => copyText(get(), useCatalog.getState().types),
  paste(text, at) {
    const part = readPart(text)
    if (!part || !(part.nodes.length + part.notes.length)) return false
    const { nodes, edges, change } = get()
    const more = pasted(part, { nodes, edges }, useCatalog.getState().types, at)
    change('', `Pasted ${more.nodes.length}`, { nodes: [...deselected(nodes), ...more.nodes], edges: [...edges, ...more.edges] })
    return true
  },
  duplicate() {
    const text = get().copy()
    if (text) get().paste(text)
  },
  place(positions, first) {
    const before = get().nodes
    const placed = before.map((n) => (positions[n.id] ? { ...n, position: positions[n.id]! } : n))
    // A frame goes where its nodes went.
    const nodes = placed.map((n) => {
      const inside = isFrame(n) ? new Set(membersOf(n, before).map((each) => each.id)) : null
      const box = inside && around(placed.filter((each) => inside.has(each.id)))
      return box ? { ...n, position: { x: box.x, y: box.y }, width: box.width, height: box.height } : n
    })
    if (first) set({ nodes, wantsLayout: false }) // a flow without positions is laid out as it opens: no change of anybody's
    else get().change('', 'Tidied', { nodes })
    set((s) => ({ laidOut: s.laidOut + 1 }))
  },
}))

const deselected = (nodes: CanvasNode[]) => nodes.map((n) => (n.selected ? { ...n, selected: false } : n))
const makeRenamed = <N extends CanvasNode>(node: N, id: string, title?: string): N => ({ ...node, id, ariaLabel: `${title ?? ''}, ${id}` })

function step(found: { history: History<Snapshot>; present: Snapshot } | null, said: string): Partial<FlowState> {
  return found ? { ...found.present, history: found.history, said, gesture: null } : { said: 'Nothing to undo' }
}

export const dirty = (s: Pick<FlowState, 'rev' | 'savedRev' | 'loaded'>) => s.loaded && s.rev !== s.savedRev

/** The open flow as a document. */
export function currentDoc(graph: Graph & { meta: Meta } = useFlow.getState()): FlowDoc {
  return writeFlow(graph, graph.meta, useCatalog.getState().types)
}

// A flow document as the canvas holds it, and back. What the canvas does not understand is kept as it was.
import type { Edge, Node } from '@xyflow/react'
import { type FrameNode, makeFrame, writeFrame } from './frames'
import type { EdgeDoc, FlowDoc, NodeDoc, NodeType, Obj, Port, PortKind } from '../api/types'

export interface CardData extends Record<string, unknown> {
  type: string
  config: Obj
  version?: number
  ui?: Obj
}

export interface NoteData extends Record<string, unknown> {
  text: string
  rest?: Obj
}

export type CardNode = Node<CardData, 'card' | 'pill'>
export type NoteNode = Node<NoteData, 'note'>
export type CanvasNode = CardNode | NoteNode | FrameNode
export type Wire = Edge<{ kind: PortKind }>
export type Catalog = Readonly<Record<string, NodeType>>

export interface Meta {
  name: string
  description: string
  id?: string
  $schema?: string
  format?: string
  ui?: Obj
}

export interface Graph {
  nodes: CanvasNode[]
  edges: Wire[]
}

export const isCard = (node: CanvasNode): node is CardNode => node.type === 'card' || node.type === 'pill'
export const isNote = (node: CanvasNode): node is NoteNode => node.type === 'note'
export const isFrame = (node: CanvasNode): node is FrameNode => node.type === 'frame'

const number = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)

/** The id of an edge says all of it, so that the same edge is the same in every tab. */
export const wireId = (source: string, out: string, target: string, into: string) => `${source}|${out}→${target}|${into}`

export function makeWire(source: string, out: string, target: string, into: string, kind: PortKind): Wire {
  return {
    id: wireId(source, out, target, into), type: 'wire', source, sourceHandle: out, target, targetHandle: into,
    data: { kind }, ariaLabel: `${kind} edge from ${source} to ${target}`,
  }
}

export function makeCard(doc: NodeDoc, catalog: Catalog, position: { x: number; y: number }): CardNode {
  const type = catalog[doc.type]
  return {
    id: doc.id,
    type: type?.attachment ? 'pill' : 'card',
    position,
    data: { type: doc.type, config: doc.config ?? {}, version: doc.version, ui: doc.ui },
    ariaLabel: `${type?.title ?? doc.type}, ${doc.id}`,
  }
}

export function makeNote(id: string, note: Obj): NoteNode {
  const { text, x, y, width, height, id: _id, ...rest } = note
  return {
    id: `note:${id}`,
    type: 'note',
    position: { x: number(x) ?? 0, y: number(y) ?? 0 },
    width: number(width) ?? 200,
    height: number(height) ?? 100,
    data: { text: typeof text === 'string' ? text : '', rest },
    ariaLabel: 'Note',
  }
}

const port = (ports: Port[] | undefined, name: string | undefined): Port | undefined =>
  name === undefined ? ports?.[0] : ports?.find((each) => each.name === name)

/** An edge whose end names no port goes to the first one. */
function readEdge(edge: EdgeDoc, types: Map<string, NodeType | undefined>): Wire {
  const out = port(types.get(edge.source)?.outputs, edge.source_port)
  const into = port(types.get(edge.target)?.inputs, edge.target_port)
  return makeWire(
    edge.source, out?.name ?? edge.source_port ?? 'out', edge.target, into?.name ?? edge.target_port ?? 'in',
    out?.kind ?? into?.kind ?? 'message',
  )
}

/** `placed` is false where a node had no position: then the flow wants a layout. */
export function readFlow(doc: FlowDoc, catalog: Catalog): Graph & { meta: Meta; placed: boolean } {
  const { nodes: docs = [], edges: wires = [], name, description, ...rest } = doc
  let placed = true
  const nodes: CanvasNode[] = docs.map((each, i) => {
    const x = number(each.ui?.x)
    const y = number(each.ui?.y)
    if (x === null || y === null) placed = false
    return makeCard(each, catalog, { x: x ?? i * 260, y: y ?? 0 })
  })
  const notes = Array.isArray(doc.ui?.notes) ? (doc.ui.notes as Obj[]) : []
  notes.forEach((note, i) => nodes.push(makeNote(String(note.id ?? i + 1), note)))
  const groups = Array.isArray(doc.ui?.groups) ? (doc.ui.groups as Obj[]) : []
  // Frames come first: they lie behind what they hold.
  nodes.unshift(...groups.map((group, i) => makeFrame(String(group.id ?? i + 1), group)))
  const types = new Map(docs.map((each) => [each.id, catalog[each.type]]))
  const seen = new Set<string>()
  const edges = wires.map((edge) => readEdge(edge, types)).filter((edge) => !seen.has(edge.id) && seen.add(edge.id))
  return { nodes, edges, placed, meta: { name, description: description ?? '', ...rest } }
}

function writeNode(node: CardNode): NodeDoc {
  const { type, config, version, ui } = node.data
  return {
    id: node.id,
    type,
    ...(version === undefined ? {} : { version }),
    config,
    ui: { ...ui, x: Math.round(node.position.x), y: Math.round(node.position.y) },
  }
}

export function writeEdge(edge: Wire, types: Map<string, NodeType | undefined>): EdgeDoc {
  const out = types.get(edge.source)?.outputs[0]?.name ?? 'out'
  const into = types.get(edge.target)?.inputs[0]?.name ?? 'in'
  return {
    source: edge.source,
    target: edge.target,
    ...(edge.sourceHandle === out ? {} : { source_port: edge.sourceHandle ?? undefined }),
    ...(edge.targetHandle === into ? {} : { target_port: edge.targetHandle ?? undefined }),
  }
}

function writeNote(node: NoteNode): Obj {
  return {
    ...node.data.rest,
    id: node.id.slice('note:'.length),
    text: node.data.text,
    x: Math.round(node.position.x),
    y: Math.round(node.position.y),
    width: Math.round(node.width ?? node.measured?.width ?? 200),
    height: Math.round(node.height ?? node.measured?.height ?? 100),
  }
}

export function writeFlow(graph: Graph, meta: Meta, catalog: Catalog): FlowDoc {
  const cards = graph.nodes.filter(isCard)
  const types = new Map(cards.map((node) => [node.id, catalog[node.data.type]]))
  const notes = graph.nodes.filter(isNote).map(writeNote)
  const groups = graph.nodes.filter(isFrame).map(writeFrame)
  const { notes: _notes, groups: _groups, ...ui } = meta.ui ?? {}
  const all = { ...ui, ...(groups.length ? { groups } : {}), ...(notes.length ? { notes } : {}) }
  return {
    ...(meta.$schema ? { $schema: meta.$schema } : {}),
    format: meta.format ?? 'farthing.flow/1',
    ...(meta.id ? { id: meta.id } : {}),
    name: meta.name,
    ...(meta.description ? { description: meta.description } : {}),
    nodes: cards.map(writeNode),
    edges: graph.edges.map((edge) => writeEdge(edge, types)),
    ...(Object.keys(all).length ? { ui: all } : {}),
  }
}

/** A name that nobody has yet: the stem itself, else with the first free number. */
export function freshId(taken: ReadonlySet<string>, stem: string): string {
  const base = stem.replace(/[^\p{L}\p{N}_-]/gu, '_').replace(/^[^\p{L}_]+/u, '') || 'node'
  if (!taken.has(base)) return base
  const root = base.replace(/_?\d+$/, '')
  let n = 2
  while (taken.has(`${root}_${n}`)) n += 1
  return `${root}_${n}`
}

export const ID_PATTERN = /^[\p{L}_][\p{L}\p{N}_-]{0,63}$/u

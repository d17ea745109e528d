// One line of a timeline.
import type { Event, Gauge, Usage } from '../api/types'

export type RowKind = 'run' | 'node' | 'call' | 'tool' | 'memory' | 'note' | 'warning' | 'stop' | 'error' | 'admin'

export interface Row {
  /** Sequence number of the event that began the row; unique in a session. */
  seq: number
  kind: RowKind
  depth: number
  /** Instants and durations in milliseconds; `ms` null: under way, or of no length. */
  at: number
  offset: number
  ms: number | null
  waited: number
  run: string | null
  node: string | null
  step: number | null
  what: string
  text: string
  state: string
  purpose: string
  model: string | null
  attempt: number
  usage: Usage | null
  /** Nano-dollars; with usage, null is an unknown cost. */
  cost: number | null
  unknown: number
  estimated: boolean
  gauges: Gauge[]
  gauge: Gauge | null
  code: string | null
  remedy: string | null
  leftOut: number
  rehearsal: boolean
  calls: number
  parent: Row | null
  below: Row[]
  /** The events that the row is made of, for its details. */
  events: Event[]
  /** Grows with each change, so that a drawn row knows when to draw itself anew. */
  version: number
}

export function newRow(seq: number, kind: RowKind, at: number, parent: Row | null): Row {
  return {
    seq, kind, at, parent, depth: parent ? parent.depth + 1 : 0, offset: 0, ms: null, waited: 0, run: null, node: null, step: null,
    what: '', text: '', state: 'done', purpose: '', model: null, attempt: 1, usage: null, cost: null, unknown: 0, estimated: false,
    gauges: [], gauge: null, code: null, remedy: null, leftOut: 0, rehearsal: false, calls: 0, below: [], events: [], version: 0,
  }
}

export function addUsage(a: Usage | null, b: Usage): Usage {
  return {
    input: (a?.input ?? 0) + (b.input ?? 0),
    cached: (a?.cached ?? 0) + (b.cached ?? 0),
    cache_write: (a?.cache_write ?? 0) + (b.cache_write ?? 0),
    output: (a?.output ?? 0) + (b.output ?? 0),
    reasoning: (a?.reasoning ?? 0) + (b.reasoning ?? 0),
  }
}

/** How a node ended, by the code of its failure. */
export function failedState(code: string | undefined): 'done' | 'failed' | 'stopped' | 'cancelled' {
  if (!code) return 'done'
  return code === 'cancelled' ? 'cancelled' : code.startsWith('budget.') ? 'stopped' : 'failed'
}

export const tokensOf = (usage: Usage | null | undefined) => (usage?.input ?? 0) + (usage?.output ?? 0)
export const live = (row: Row) => row.state === 'running' || row.state === 'waiting'

// A session's events folded into rows: run > node > call > tool, and whatever a person must see. The live view and
// later inspection share it. An event type that has no line here is shown by its name with what it holds.
import type { CallError, Event, Gauge, Usage } from '../api/types'
import { clip, shortJson } from '../lib/text'
import { type Row, type RowKind, addUsage, failedState, live, newRow } from './row'
import { memoryWords, noteWords } from './words'

/** Characters of a text that a row keeps; the event has all of it. */
const TEXT = 2000
const COMMON = new Set(['session_uid', 'seq', 'type', 'at', 'run_id', 'node_id', 'step', 'v'])
const RUN_STATES: Record<string, string> = { completed: 'done' }

type Take = (fold: Timeline, event: Event) => void
const key = (...parts: unknown[]) => parts.join('\u0000')

export class Timeline {
  readonly top: Row[] = []
  version = 0
  lastSeq = 0
  private runs = new Map<string, Row>()
  private nodes = new Map<string, Row>()
  private calls = new Map<string, Row>()
  private tools = new Map<string, Row>()
  private steps = new Map<string, Row>()
  private bills = new Map<string, Event>()
  private flat: Row[] | null = null

  add(event: Event): void {
    if (event.seq <= this.lastSeq) return
    this.lastSeq = event.seq
    this.version += 1
    ;(HANDLERS[event.type] ?? other)(this, event)
  }

  /** Every row so far, depth first, in the order in which they began. */
  rows(): Row[] {
    if (this.flat) return this.flat
    const found: Row[] = []
    const stack = this.top.slice().reverse()
    for (let row = stack.pop(); row; row = stack.pop()) {
      found.push(row)
      for (let i = row.below.length - 1; i >= 0; i -= 1) stack.push(row.below[i]!)
    }
    return (this.flat = found)
  }

  make(kind: RowKind, event: Event, parent: Row | null, fields: Partial<Row> = {}): Row {
    const row = newRow(event.seq, kind, Date.parse(event.at), parent)
    const run = event.run_id ? this.runs.get(event.run_id) : undefined
    row.run = event.run_id ?? null
    row.node = event.node_id ?? null
    row.step = event.step ?? null
    row.offset = Math.max(0, row.at - (run?.at ?? row.at))
    row.events.push(event)
    Object.assign(row, fields)
    ;(parent ? parent.below : this.top).push(row)
    this.flat = null
    return row
  }

  touch(row: Row, event: Event, fields: Partial<Row>): void {
    Object.assign(row, fields)
    if (row.events.at(-1) !== event) row.events.push(event)
    row.version += 1
  }

  run(event: Event): Row | null {
    if (!event.run_id) return null
    let run = this.runs.get(event.run_id)
    if (!run) {
      run = this.make('run', event, null, { what: 'run', state: 'running' })
      this.runs.set(event.run_id, run)
    }
    return run
  }

  /** The open node of an event, else its run. A node inside a body (`loop/agent`) is below the body. */
  node(event: Event): Row | null {
    for (let id = event.node_id ?? ''; id; id = id.slice(0, Math.max(0, id.lastIndexOf('/')))) {
      const node = this.nodes.get(key(event.run_id, id))
      if (node) return node
    }
    return this.run(event)
  }

  below(event: Event): Row | null {
    return (event.step != null && this.steps.get(key(event.run_id, event.node_id, event.step))) || this.node(event)
  }

  call(event: Event): Row {
    const id = key(event.run_id, event.call)
    const open = this.calls.get(id)
    if (open) return open
    const place = key(event.run_id, event.node_id, event.step)
    const parent = this.node(event)
    const purpose = String(event.purpose ?? 'main')
    const row = this.make('call', event, parent, { what: purpose, purpose, state: 'running' })
    const bill = this.bills.get(place)
    if (bill) {
      row.events.unshift(bill)
      row.leftOut = Number(bill.left_out_count ?? 0)
      this.bills.delete(place)
    }
    this.calls.set(id, row)
    this.steps.set(place, row)
    for (let above = parent; above; above = above.parent) above.calls += 1
    return row
  }

  close(row: Row, event: Event, state: string): void {
    this.touch(row, event, {
      ...(live(row) ? { state } : {}),
      ms: row.ms ?? Math.max(0, Date.parse(event.at) - row.at),
    })
  }

  openRows(run: string | null | undefined): Row[] {
    return [...this.nodes.values(), ...this.calls.values(), ...this.tools.values()].filter((row) => row.run === run && live(row))
  }

  startNode(event: Event): void {
    const outer = (event.node_id ?? '').split('/').slice(0, -1).join('/')
    const parent = (outer && this.nodes.get(key(event.run_id, outer))) || this.run(event)
    const visit = Number(event.visit ?? 1)
    const item = event.item == null ? '' : ` · item ${String(event.item)}`
    const what = `${event.node_id ?? 'node'}${visit > 1 ? ` · visit ${visit}` : ''}${item}`
    this.nodes.set(key(event.run_id, event.node_id), this.make('node', event, parent, { what, state: 'running' }))
  }

  ownNode(event: Event): Row {
    return this.nodes.get(key(event.run_id, event.node_id)) ?? this.make('node', event, this.run(event), { what: event.node_id ?? 'node' })
  }

  startTool(event: Event): void {
    const text = clip(shortJson(event.arguments), TEXT)
    this.tools.set(key(event.run_id, event.call), this.make('tool', event, this.below(event), { what: String(event.tool), text, state: 'running' }))
  }

  tool(event: Event): Row {
    return this.tools.get(key(event.run_id, event.call)) ?? this.make('tool', event, this.below(event), { what: String(event.tool) })
  }

  knownCall(event: Event): Row | undefined {
    if (event.call != null) return this.calls.get(key(event.run_id, event.call))
    return this.steps.get(key(event.run_id, event.node_id, event.step))
  }

  keepBill(event: Event): void {
    this.bills.set(key(event.run_id, event.node_id, event.step), event)
  }
}

const errorFields = (error: CallError | null | undefined): Partial<Row> =>
  error ? { text: clip(error.message, TEXT), code: error.code, remedy: error.remedy ?? null } : {}

function addUp(row: Row, usage: Usage, cost: number | null): void {
  for (let above = row.parent; above; above = above.parent) {
    above.usage = addUsage(above.usage, usage)
    above.cost = (above.cost ?? 0) + (cost ?? 0)
    above.unknown += cost === null ? 1 : 0
    above.version += 1
  }
}

/** What was asked, as words: an input of one text is that text. */
function inputText(input: unknown): string {
  const fields = input && typeof input === 'object' && !Array.isArray(input) ? Object.values(input) : []
  return shortJson(fields.length === 1 && typeof fields[0] === 'string' ? fields[0] : input)
}

/** Whether something below a row tells of this failure already. */
const tells = (row: Row, code: string): boolean => row.below.some((each) => each.code === code || tells(each, code))

function runStarted(fold: Timeline, event: Event): void {
  const run = fold.run(event)!
  fold.touch(run, event, {
    at: Date.parse(event.at), what: String(event.flow_name || event.flow_id || 'run'), state: 'running',
    model: (event.model as string | null) ?? null, rehearsal: !!event.rehearsal,
    text: event.kind && event.kind !== 'flow' ? String(event.kind) : clip(inputText(event.input), TEXT),
  })
}

function runFinished(fold: Timeline, event: Event): void {
  const run = fold.run(event)!
  const state = String(event.state)
  for (const row of fold.openRows(event.run_id)) fold.close(row, event, RUN_STATES[state] ?? state)
  const unknown = Number(event.unknown_cost ?? 0)
  const cost = Number(event.cost ?? 0)
  const error = event.error as CallError | null
  // What was asked stays in sight where the failure has a row of its own.
  const told = error && run.text && tells(run, error.code) ? { text: run.text } : {}
  fold.touch(run, event, {
    state: RUN_STATES[state] ?? state, ms: Number(event.ms ?? 0) || Math.max(0, Date.parse(event.at) - run.at),
    usage: (event.usage as Usage) ?? run.usage, unknown, cost: cost === 0 && unknown ? null : cost, ...errorFields(error), ...told,
  })
}

function nodeFinished(fold: Timeline, event: Event): void {
  fold.close(fold.ownNode(event), event, 'done')
}

function nodeFailed(fold: Timeline, event: Event): void {
  const node = fold.ownNode(event)
  const error = event.error as CallError
  const state = failedState(error.code)
  const told = state === 'cancelled' || node.below.some((row) => row.code === error.code)
  fold.touch(node, event, { ...errorFields(error), ...(told ? { text: '' } : {}), state, ...(state === 'cancelled' ? { code: null, remedy: null } : {}) })
  fold.close(node, event, 'failed')
}

function callBegins(fold: Timeline, event: Event): void {
  const call = fold.call(event)
  const waited = call.state === 'waiting' ? Math.max(0, Date.parse(event.at) - call.at) : call.waited
  const fields: Partial<Row> = { state: 'running', waited, purpose: String(event.purpose ?? call.purpose), what: String(event.purpose ?? call.what) }
  if (event.type === 'model.called') Object.assign(fields, { model: event.model, attempt: event.attempt ?? 1 })
  if (live(call)) fold.touch(call, event, fields)
}

function used(fold: Timeline, event: Event): void {
  const call = fold.call(event)
  const usage = (event.usage as Usage) ?? {}
  const cost = (event.cost as number | null) ?? null
  const error = event.error as CallError | null
  fold.touch(call, event, { model: event.model as string, attempt: Number(event.attempt ?? 1), estimated: !!event.estimated, ms: Number(event.ms ?? 0) })
  if (!error || (usage.input ?? 0) + (usage.output ?? 0) > 0) {
    fold.touch(call, event, { usage, cost, unknown: cost === null ? 1 : 0 })
    addUp(call, usage, cost)
  }
  if (error) fold.touch(call, event, { ...errorFields(error), state: 'failed' })
  fold.close(call, event, 'done')
}

function settled(fold: Timeline, event: Event): void {
  const call = fold.call(event)
  fold.touch(call, event, { gauges: (event.gauges as Gauge[]) ?? [] })
  // What was used comes with the call's own event; a call whose process died has none.
  if (!call.usage && event.status === 'orphaned') {
    const cost = (event.cost as number | null) ?? null
    fold.touch(call, event, { usage: { input: Number(event.tokens ?? 0) }, cost, unknown: cost === null ? 1 : 0, estimated: !!event.estimated })
    addUp(call, call.usage!, cost)
  }
  if (event.status === 'orphaned') call.text = 'its process died; charged at the estimate'
  fold.close(call, event, 'done')
}

function released(fold: Timeline, event: Event): void {
  const call = fold.call(event)
  fold.touch(call, event, { text: call.text || String(event.reason ?? '') })
  fold.close(call, event, 'released')
}

function said(fold: Timeline, event: Event): void {
  const calls = (event.tool_calls as string[] | undefined) ?? []
  const text = clip(!event.text && calls.length ? `asks for ${calls.join(', ')}` : String(event.text ?? ''), TEXT)
  const call = fold.knownCall(event)
  if (call) fold.touch(call, event, { text })
  else fold.make('note', event, fold.node(event), { what: 'said', text })
}

function asked(fold: Timeline, event: Event): void {
  const node = fold.node(event)
  if (node?.kind === 'node') fold.touch(node, event, { text: clip(String(event.text ?? ''), TEXT) })
}

function toolAnswered(fold: Timeline, event: Event): void {
  const tool = fold.tool(event)
  const error = event.error as CallError | null
  const text = error ? error.message : `${tool.text} → ${shortJson(event.result)}`
  fold.touch(tool, event, { ms: Number(event.ms ?? 0), text: clip(text, TEXT), code: error?.code ?? null, ...(error ? { state: 'failed' } : {}) })
  fold.close(tool, event, 'done')
}

function message(fold: Timeline, event: Event): void {
  const gauge = (event.gauge as Gauge | null) ?? null
  const code = String(event.code ?? event.type)
  const stop = event.type === 'agent.error' && (gauge !== null || code.startsWith('budget.'))
  const kind: RowKind = event.type === 'agent.warning' ? 'warning' : stop ? 'stop' : 'error'
  fold.make(kind, event, fold.node(event), { what: code, code, text: String(event.message ?? ''), remedy: (event.remedy as string) ?? null, gauge })
}

function policyFailed(fold: Timeline, event: Event): void {
  const error = event.error as CallError
  fold.make('warning', event, fold.node(event), { what: event.type, code: error.code, text: `${String(event.policy)}: ${error.message}`, remedy: error.remedy ?? null })
}

function remembered(fold: Timeline, event: Event): void {
  const { what, text } = memoryWords(event)
  fold.make('memory', event, fold.below(event), { what, text: clip(text, TEXT) })
}

/** What has no line of its own: its name, and what it holds. */
function other(fold: Timeline, event: Event): void {
  const known = noteWords(event)
  const rest = Object.fromEntries(Object.entries(event).filter(([name]) => !COMMON.has(name)))
  const kind: RowKind = event.type === 'budget.changed' ? 'admin' : 'note'
  fold.make(kind, event, fold.node(event), { what: known?.what ?? event.type, text: clip(known?.text ?? shortJson(rest), TEXT) })
}

const nothing: Take = () => undefined

const HANDLERS: Record<string, Take> = {
  'session.opened': nothing,
  'run.queued': (fold, event) => { fold.touch(fold.run(event)!, event, { state: 'queued' }) },
  'run.started': runStarted,
  'run.finished': runFinished,
  'node.started': (fold, event) => fold.startNode(event),
  'node.finished': nodeFinished,
  'node.failed': nodeFailed,
  'node.skipped': (fold, event) => {
    fold.make('node', event, fold.run(event), { what: event.node_id ?? 'node', state: 'skipped', text: String(event.reason ?? '') })
  },
  'agent.request': asked,
  'agent.response': said,
  'agent.warning': message,
  'agent.error': message,
  'agent.usage': used,
  'context.assembled': (fold, event) => fold.keepBill(event),
  'model.called': callBegins,
  'tool.request': (fold, event) => fold.startTool(event),
  'tool.response': toolAnswered,
  'budget.reserved': callBegins,
  'budget.waiting': (fold, event) => { fold.touch(fold.call(event), event, { state: 'waiting', gauges: (event.gauges as Gauge[]) ?? [] }) },
  'budget.settled': settled,
  'budget.released': released,
  'policy.failed': policyFailed,
  'memory.read': remembered,
  'memory.write': remembered,
  'memory.refused': remembered,
  'memory.forgotten': remembered,
  'memory.erased': remembered,
  'memory.moved': remembered,
  'memory.compacted': remembered,
  'memory.judged': remembered,
  'memory.proposed': remembered,
  'memory.consolidated': remembered,
}

export function foldAll(events: Iterable<Event>): Timeline {
  const timeline = new Timeline()
  for (const event of events) timeline.add(event)
  return timeline
}

// Runs as they happen, in a store of its own: events, the fold of them, node states, gauges, streamed text.
import { create } from 'zustand'
import { ApiError, api, type RunRequest } from '../api/client'
import { follow, type Connection } from '../api/stream'
import type { CallError, Delta, Event, Gauge, Usage } from '../api/types'
import { Timeline } from '../timeline/fold'
import { addUsage, failedState } from '../timeline/row'
import { executed } from './cards'
import { FRESH, withUnreached } from './unreached'

export interface NodeLive {
  state: 'queued' | 'running' | 'waiting' | 'done' | 'failed' | 'stopped' | 'skipped' | 'cancelled' | 'interrupted' | 'unreached'
  startedAt: number
  ms: number | null
  usage: Usage | null
  cost: number | null
  unknown: number
  error: CallError | null
  /** The call whose text streams in now. */
  call: string | null
  text: string
  /** The tool that is being called now. */
  tool: string | null
  warning: boolean
}

export interface Turn {
  run: string
  input: unknown
  outputs: Record<string, unknown> | null
  state: string
  error: CallError | null
  rehearsal: boolean
  cost: number | null
  unknown: number
  usage: Usage | null
  ms: number | null
  /** Stops and warnings of this turn, in order. */
  notices: Event[]
  texts: { node: string; call: string; text: string }[]
}

interface RunState {
  session: string | null
  sessionName: string
  runId: string | null
  status: 'idle' | 'starting' | 'running' | 'cancelling' | 'ended'
  connection: Connection | null
  connectionWhy: string
  rehearsal: boolean
  nodes: Record<string, NodeLive>
  gauges: Record<string, Gauge>
  turns: Turn[]
  events: Event[]
  timeline: Timeline
  /** Grows with every flush; a view of `timeline` and `events` depends on it. */
  version: number
  startError: ApiError | null
  lastRequest: RunRequest | null

  start(request: RunRequest): Promise<void>
  cancel(): Promise<void>
  /** Follow a session that exists: after a reload, or from the list of sessions. */
  attach(session: string): Promise<void>
  leave(): void
}

const ACTIVE = new Set(['queued', 'running', 'paused'])

const IDLE = {
  session: null, sessionName: '', runId: null, status: 'idle' as const, connection: null, connectionWhy: '', rehearsal: false,
  nodes: {}, gauges: {}, turns: [], events: [], version: 0, startError: null, lastRequest: null,
}

let stopFollowing: (() => void) | null = null
let queue: Event[] = []
let deltas: Delta[] = []
let frame = 0

export const gaugeKey = (gauge: Pick<Gauge, 'pot' | 'metric' | 'period'>) => `${gauge.pot}|${gauge.metric}|${gauge.period}`

export const useRun = create<RunState>()((set, get) => ({
  ...IDLE,
  timeline: new Timeline(),

  async start(request) {
    const before = get()
    set({ status: 'starting', startError: null, lastRequest: request, nodes: {} })
    try {
      const answer = await api.startRun(request, crypto.randomUUID())
      const same = before.session === answer.session_uid
      if (!same) set({ turns: [], events: [], gauges: {}, timeline: new Timeline(), version: get().version + 1 })
      set({
        session: answer.session_uid, sessionName: answer.session, runId: answer.run_id, rehearsal: answer.rehearsal, status: 'running',
      })
      listen(answer.session_uid, answer.run_id, same ? before.timeline.lastSeq : 0)
    } catch (error) {
      set({ status: 'ended', startError: error as ApiError })
    }
  },

  async cancel() {
    const { runId, status } = get()
    if (!runId || status !== 'running') return
    set({ status: 'cancelling' })
    try {
      await api.cancelRun(runId)
    } catch (error) {
      set({ status: 'running', startError: error as ApiError })
    }
  },

  async attach(session) {
    get().leave()
    set({ session, connection: 'connecting' })
    let found: Awaited<ReturnType<typeof api.session>>
    try {
      found = await api.session(session)
    } catch (error) {
      if (get().session === session) set({ connection: 'failed', connectionWhy: (error as Error).message })
      return
    }
    if (get().session !== session || get().status !== 'idle') return // something else was begun meanwhile
    const last = found.runs.at(-1)
    const active = !!last && ACTIVE.has(last.state)
    set({ sessionName: found.name, runId: last?.run_id ?? null, rehearsal: found.partition === 'rehearsal', status: active ? 'running' : 'ended' })
    listen(session, null, 0)
  },

  leave() {
    stopFollowing?.()
    stopFollowing = null
    queue = []
    deltas = []
    set((s) => ({ ...IDLE, timeline: new Timeline(), version: s.version + 1 }))
  },
}))

function listen(session: string, run: string | null, after: number): void {
  stopFollowing?.()
  stopFollowing = follow({
    session,
    after,
    ...(run ? { run } : {}),
    onEvent(event) {
      queue.push(event)
      schedule()
    },
    onDelta(delta) {
      deltas.push(delta)
      schedule()
    },
    onReset() {
      queue = []
      useRun.setState((s) => ({ nodes: {}, gauges: {}, turns: [], events: [], timeline: new Timeline(), version: s.version + 1 }))
    },
    onConnection(connection, why) {
      if (connection === 'ended') flush()
      useRun.setState((s) => ({
        connection,
        connectionWhy: why ?? '',
        ...(connection === 'ended' && s.status !== 'idle' ? { status: 'ended' as const } : {}),
      }))
    },
  })
}

/** All that came since the last frame is shown at once, so that a burst of tokens costs one drawing. */
function schedule(): void {
  if (frame) return
  // A hidden tab has no frames; its state must not lag behind for ever.
  frame = document.hidden ? window.setTimeout(flush, 250) : requestAnimationFrame(flush)
}

function flush(): void {
  frame = 0
  if (!queue.length && !deltas.length) return
  const events = queue
  const pieces = deltas
  queue = []
  deltas = []
  useRun.setState((s) => {
    for (const event of events) s.timeline.add(event)
    return { ...apply(s, events, pieces, executed), version: s.version + 1 }
  })
}

type Shown = Pick<RunState, 'nodes' | 'gauges' | 'turns' | 'events' | 'runId' | 'status'>

/** The live picture after these events and pieces of text. It copies what it changes. `ids`: the nodes of the open flow
 * that are run, asked for where a run ended before it came to all of them. */
export function apply(before: Shown, events: readonly Event[], pieces: readonly Delta[], ids: () => readonly string[] = () => []): Shown {
  const next: Shown = { ...before, nodes: { ...before.nodes }, gauges: { ...before.gauges }, turns: before.turns.slice() }
  if (events.length) next.events = [...before.events, ...events]
  for (const event of events) take(next, event, ids)
  for (const delta of pieces) stream(next, delta)
  return next
}

function patch(next: Shown, id: string | null | undefined, fields: Partial<NodeLive>): void {
  if (id) next.nodes[id] = { ...(next.nodes[id] ?? FRESH), ...fields }
}

function turnOf(next: Shown, run: string | null | undefined, fields: (turn: Turn) => Partial<Turn>): void {
  const at = next.turns.findLastIndex((turn) => turn.run === run)
  if (at >= 0) next.turns[at] = { ...next.turns[at]!, ...fields(next.turns[at]!) }
}

/** Text of a call so far, by offset: a piece that comes twice changes nothing. */
export function spliceText(text: string, offset: number, piece: string): string {
  return offset > text.length ? text : text.slice(0, offset) + piece
}

function stream(next: Shown, delta: Delta): void {
  if (next.runId && delta.run_id !== next.runId) return
  const node = next.nodes[delta.node_id]
  if (!node || (node.state !== 'running' && node.state !== 'waiting')) return
  const before = node.call === delta.call ? node.text : ''
  const text = delta.offset > before.length && node.call !== delta.call ? delta.text : spliceText(before, delta.offset, delta.text)
  patch(next, delta.node_id, { call: delta.call, text, state: 'running' })
}

function gaugesOf(next: Shown, gauges: Gauge[] | undefined): void {
  for (const gauge of gauges ?? []) next.gauges[gaugeKey(gauge)] = gauge
}

const ENDED: Record<string, NodeLive['state']> = { cancelled: 'cancelled', interrupted: 'interrupted', failed: 'cancelled', completed: 'done' }

function take(next: Shown, event: Event, ids: () => readonly string[]): void {
  const ours = !next.runId || event.run_id === next.runId
  const node = event.node_id ? next.nodes[event.node_id] : undefined
  switch (event.type) {
    case 'run.queued':
    case 'run.started':
      if (!next.turns.some((turn) => turn.run === event.run_id)) {
        next.turns.push({
          run: event.run_id ?? '', input: null, outputs: null, state: 'running', error: null, rehearsal: false, cost: null, unknown: 0,
          usage: null, ms: null, notices: [], texts: [],
        })
      }
      if (event.type === 'run.started') turnOf(next, event.run_id, () => ({ input: event.input, rehearsal: !!event.rehearsal }))
      break
    case 'run.finished': {
      turnOf(next, event.run_id, () => ({
        state: String(event.state), outputs: (event.outputs as Record<string, unknown>) ?? {}, error: (event.error as CallError) ?? null,
        cost: Number(event.cost ?? 0), unknown: Number(event.unknown_cost ?? 0), usage: event.usage as Usage, ms: Number(event.ms ?? 0),
      }))
      if (!ours) break
      next.status = 'ended'
      for (const [id, each] of Object.entries(next.nodes)) {
        if (each.state === 'running' || each.state === 'waiting') patch(next, id, { state: ENDED[String(event.state)] ?? 'done', tool: null })
      }
      next.nodes = withUnreached(next.nodes, ids(), String(event.state))
      break
    }
    case 'node.started':
      if (ours && event.node_id) next.nodes[event.node_id] = { ...FRESH, startedAt: Date.parse(event.at), usage: node?.usage ?? null, cost: node?.cost ?? null }
      break
    case 'node.finished':
    case 'node.failed': {
      if (!ours) break
      const error = (event.error as CallError | undefined) ?? null
      const state = failedState(error?.code)
      patch(next, event.node_id, { state, error: state === 'cancelled' ? null : error, tool: null, ms: node ? Math.max(0, Date.parse(event.at) - node.startedAt) : null })
      break
    }
    case 'node.skipped':
      if (ours) patch(next, event.node_id, { state: 'skipped' })
      break
    case 'budget.waiting':
      gaugesOf(next, event.gauges as Gauge[])
      if (ours) patch(next, event.node_id, { state: 'waiting' })
      break
    case 'model.called':
      if (ours && node) patch(next, event.node_id, { state: 'running', call: String(event.call), text: '' })
      break
    case 'agent.response':
      if (ours && node) patch(next, event.node_id, { call: null, text: String(event.text ?? '') || node.text })
      break
    case 'agent.usage':
      if (ours && node) {
        const cost = (event.cost as number | null) ?? null
        patch(next, event.node_id, {
          usage: addUsage(node.usage, (event.usage as Usage) ?? {}), cost: (node.cost ?? 0) + (cost ?? 0), unknown: node.unknown + (cost === null ? 1 : 0),
        })
      }
      break
    case 'tool.request':
      if (ours) patch(next, event.node_id, { tool: String(event.tool) })
      break
    case 'tool.response':
      if (ours) patch(next, event.node_id, { tool: null })
      break
    case 'agent.warning':
    case 'agent.error':
      turnOf(next, event.run_id, (turn) => ({ notices: [...turn.notices, event] }))
      if (event.gauge) gaugesOf(next, [event.gauge as Gauge])
      if (ours && event.type === 'agent.warning') patch(next, event.node_id, { warning: true })
      break
    case 'budget.settled':
      gaugesOf(next, event.gauges as Gauge[])
      break
    case 'agent.clarify':
      turnOf(next, event.run_id, (turn) => ({ texts: [...turn.texts, { node: event.node_id ?? '', call: '', text: String(event.text ?? '') }] }))
      break
    default:
  }
}

import { describe, expect, test } from 'vitest'
import type { Event } from '../src/api/types'
import { apply, spliceText } from '../src/state/run'
import { filled, gaugeText, tightest } from '../src/app/GaugeBar'

type Shown = Parameters<typeof apply>[0]
const EMPTY: Shown = { nodes: {}, gauges: {}, turns: [], events: [], runId: 'r1', status: 'running' }
let seq = 0
const event = (type: string, fields: Partial<Event> = {}): Event => ({ session_uid: 's', seq: (seq += 1), type, at: new Date(seq * 1000).toISOString(), run_id: 'r1', node_id: 'a', step: null, ...fields })
const delta = (offset: number, text: string, call = 'c1') => ({ run_id: 'r1', node_id: 'a', call, offset, text })
const gauge = { budget: 'daily', pot: 'p', metric: 'tokens', period: 'daily', used: 90, held: 0, limit: 100, threshold_pct: 80, node_id: 'purse' }

describe('streamed text', () => {
  test('a piece that comes twice, or overlaps, is there once', () => {
    expect(spliceText('Hello', 5, ' world')).toBe('Hello world')
    expect(spliceText('Hello world', 5, ' world')).toBe('Hello world')
    expect(spliceText('Hello wor', 5, ' world')).toBe('Hello world')
    expect(spliceText('Hel', 9, 'lost')).toBe('Hel')
  })

  test('goes to its node while it runs, and begins anew with each call', () => {
    const started = apply(EMPTY, [event('node.started'), event('model.called', { call: 'c1' })], [delta(0, 'Hel'), delta(3, 'lo')])
    expect(started.nodes.a).toMatchObject({ state: 'running', text: 'Hello' })
    const again = apply(started, [event('model.called', { call: 'c2' })], [delta(0, 'Bye', 'c2')])
    expect(again.nodes.a!.text).toBe('Bye')
    const done = apply(again, [event('node.finished')], [delta(3, '!', 'c2')])
    expect(done.nodes.a).toMatchObject({ state: 'done', text: 'Bye' })
  })

  test('after a reload the text so far comes whole', () => {
    expect(apply(EMPTY, [event('node.started')], [delta(0, 'All so far')]).nodes.a!.text).toBe('All so far')
  })
})

describe('a run as it happens', () => {
  test('a stop marks its node, names its budget, and fills the gauge', () => {
    const shown = apply(EMPTY, [
      event('run.started', { node_id: null, input: 'hi' }), event('node.started'), event('agent.error', { code: 'budget.exceeded', message: 'm', gauge: { ...gauge, used: 100 } }),
      event('node.failed', { error: { code: 'budget.exceeded', message: 'm' } }), event('run.finished', { node_id: null, state: 'failed', error: { code: 'budget.exceeded', message: 'm' } }),
    ], [])
    expect(shown.nodes.a!.state).toBe('stopped')
    expect(shown.status).toBe('ended')
    expect(Object.values(shown.gauges)[0]!.used).toBe(100)
    expect(shown.turns[0]!).toMatchObject({ input: 'hi', state: 'failed' })
    expect(shown.turns[0]!.notices).toHaveLength(1)
  })

  test('what another run of the session does is no business of these nodes', () => {
    const shown = apply(EMPTY, [event('run.started', { run_id: 'r2', node_id: null }), event('node.started', { run_id: 'r2' }), event('run.finished', { run_id: 'r2', node_id: null, state: 'completed' })], [])
    expect(shown.nodes).toEqual({})
    expect(shown.status).toBe('running')
    expect(shown.turns.map((turn) => turn.run)).toEqual(['r2'])
  })

  test('what ran when the run ended does not run on', () => {
    const shown = apply(EMPTY, [event('run.started', { node_id: null }), event('node.started'), event('run.finished', { node_id: null, state: 'cancelled' })], [])
    expect(shown.nodes.a!.state).toBe('cancelled')
    const told = apply(EMPTY, [event('node.started'), event('node.failed', { error: { code: 'cancelled', message: 'The run was cancelled.' } })], [])
    expect(told.nodes.a).toMatchObject({ state: 'cancelled', error: null })
  })

  test('what is given is not changed', () => {
    const before = apply(EMPTY, [event('node.started')], [])
    const copy = structuredClone(before)
    apply(before, [event('node.finished')], [delta(0, 'x')])
    expect(before).toEqual(copy)
  })
})

describe('gauges', () => {
  test.each([[79, 'ok'], [80, 'warn'], [99, 'warn'], [100, 'stop'], [120, 'stop']])('%d of 100 is %s', (used, level) => expect(filled({ ...gauge, used }).level).toBe(level))

  test('a limit of nothing is used up', () => {
    expect(filled({ ...gauge, used: 0, limit: 0 })).toMatchObject({ level: 'stop', usedPct: 100 })
  })

  test('says at least where a cost is unknown', () => {
    expect(gaugeText({ ...gauge, metric: 'spend', used: '0.31', limit: '0.5', unknown: 2 })).toBe('at least $0.31 of $0.50 today')
    expect(gaugeText(gauge)).toBe('90 of 100 tokens today')
  })

  test('the tightest is the one with the least left', () => {
    expect(tightest([{ ...gauge, used: 10 }, { ...gauge, used: 5, limit: 6 }, { ...gauge, limit: null }])!.limit).toBe(6)
    expect(tightest([])).toBeNull()
  })
})

describe('what a run never came to', () => {
  const ids = () => ['a', 'b', 'c']
  const started = [event('run.started', { node_id: null }), event('node.started'), event('node.failed', { error: { code: 'tool.failed', message: 'm' } }), event('node.skipped', { node_id: 'b' })]
  const states = (state: string, run = 'r1') => Object.entries(apply(EMPTY, [...started, event('run.finished', { node_id: null, state, run_id: run })], [], ids).nodes).map(([id, node]) => `${id} ${node.state}`)

  test.each(['failed', 'cancelled', 'interrupted'])('says so once the run has %s', (state) => {
    expect(states(state)).toEqual(['a failed', 'b skipped', 'c unreached'])
  })

  test('is nothing where the run was whole, or was another', () => {
    expect(states('completed')).toEqual(['a failed', 'b skipped'])
    expect(states('failed', 'r2')).toEqual(['a failed', 'b skipped'])
  })

  test('and the next run begins without it', () => {
    const before = apply(EMPTY, [...started, event('run.finished', { node_id: null, state: 'failed' })], [], ids)
    expect(apply(before, [event('node.started', { node_id: 'c' })], [], ids).nodes.c!.state).toBe('running')
  })
})

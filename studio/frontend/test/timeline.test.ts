import { describe, expect, test } from 'vitest'
import type { Event } from '../src/api/types'
import { shown } from '../src/timeline/filter'
import { foldAll } from '../src/timeline/fold'
import type { Row } from '../src/timeline/row'
import { offsets, rowAt, visible } from '../src/timeline/window'

let seq = 0
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString()
const event = (type: string, ms: number, fields: Partial<Event> = {}): Event => ({ session_uid: 's', seq: (seq += 1), type, at: at(ms), run_id: 'r1', node_id: null, step: null, ...fields })
const gauge = (used: number) => ({ budget: 'daily', pot: 'f/daily', metric: 'spend', period: 'daily', used, held: 0, limit: 100, threshold_pct: 80, node_id: 'purse', field: '`limit` of daily' })
const call = { node_id: 'helper', step: 1, call: 'c1', purpose: 'main' }

function aRun(): Event[] {
  seq = 0
  return [
    event('session.opened', 0, { run_id: null }),
    event('run.started', 0, { flow_name: 'sample', flow_id: 'f', rehearsal: true, input: 'hi' }),
    event('node.started', 10, { node_id: 'helper' }),
    event('agent.request', 11, { node_id: 'helper', text: 'hi' }),
    event('context.assembled', 12, { node_id: 'helper', step: 1, sections: [{ name: 'history', tokens: 7 }], tokens: 7, left_out_count: 3 }),
    event('budget.waiting', 13, { ...call, gauges: [gauge(10)] }),
    event('budget.reserved', 33, call),
    event('model.called', 34, { ...call, model: 'p:m', messages: [{ role: 'user', content: 'hi' }] }),
    event('agent.usage', 134, { ...call, model: 'p:m', usage: { input: 100, cached: 40, output: 20 }, cost: 1000, ms: 100 }),
    event('budget.settled', 135, { ...call, tokens: 120, cost: 1000, gauges: [gauge(90)] }),
    event('agent.response', 136, { node_id: 'helper', step: 1, call: 'c1', text: '', tool_calls: ['clock'] }),
    event('tool.request', 140, { node_id: 'helper', step: 1, call: 't1', tool: 'clock', arguments: { zone: 'UTC' } }),
    event('tool.response', 190, { node_id: 'helper', step: 1, call: 't1', tool: 'clock', result: 'noon', ms: 50 }),
    event('agent.error', 200, { node_id: 'helper', code: 'budget.exceeded', message: 'used up', remedy: 'Raise it.', gauge: gauge(100) }),
    event('node.failed', 210, { node_id: 'helper', error: { code: 'budget.exceeded', message: 'used up' } }),
    event('node.skipped', 211, { node_id: 'answer', reason: 'the run ended first' }),
    event('run.finished', 220, { state: 'failed', usage: { input: 100, output: 20 }, cost: 1000, unknown_cost: 0, error: { code: 'budget.exceeded', message: 'used up' }, ms: 220 }),
  ]
}

const tree = (rows: readonly Row[]) => rows.map((row) => `${'  '.repeat(row.depth)}${row.kind} ${row.what} ${row.state}`)

describe('what was asked', () => {
  const run = (input: unknown, fields: Partial<Event> = {}) => { seq = 0; return foldAll([event('run.started', 0, { flow_name: 'sample', input }), ...(fields.type ? [event('run.finished', 9, fields)] : [])]).top[0]! }

  test.each([['Good day', 'Good day'], [{ text: 'Good day' }, 'Good day'], [{ a: 1, b: 'x' }, '{"a":1,"b":"x"}'], [null, '']])('an input of %j is said as %j', (input, text) => expect(run(input).text).toBe(text))

  test('stays in sight where a row below tells of the failure, and gives way to one that nothing else tells', () => {
    const told = foldAll(aRun()).top.find((row) => row.kind === 'run')!
    expect([told.text, told.code]).toEqual(['hi', 'budget.exceeded'])
    const alone = run('hi', { type: 'run.finished', state: 'interrupted', error: { code: 'run.interrupted', message: 'its process died' } })
    expect([alone.text, alone.code]).toEqual(['its process died', 'run.interrupted'])
  })
})

describe('the fold', () => {
  test('makes a tree of run, node, call and tool, with what a person must see', () => {
    expect(tree(foldAll(aRun()).rows())).toEqual([
      'run sample failed', '  node helper stopped', '    call main done', '      tool clock done', '    stop budget.exceeded done', '  node answer skipped',
    ])
  })

  test('a call has its time, its wait, its usage, and the bill of its context', () => {
    const row = foldAll(aRun()).rows().find((each) => each.kind === 'call')!
    expect(row).toMatchObject({ offset: 13, waited: 20, ms: 100, usage: { input: 100, cached: 40, output: 20 }, cost: 1000, unknown: 0, model: 'p:m', leftOut: 3, text: 'asks for clock' })
    expect(row.events[0]!.type).toBe('context.assembled')
    expect(row.gauges[0]!.used).toBe(90)
  })

  test('what calls used is summed up in the node', () => {
    expect(foldAll(aRun()).rows()[1]).toMatchObject({ usage: { input: 100, output: 20 }, cost: 1000, calls: 1, ms: 200 })
  })

  test('does not depend on where a live stream was cut, nor on what comes twice', () => {
    const events = aRun()
    const twice = foldAll([...events.slice(0, 9), ...events.slice(3), ...events])
    expect(tree(twice.rows())).toEqual(tree(foldAll(events).rows()))
    expect(twice.rows()[1]!.usage).toEqual(foldAll(events).rows()[1]!.usage)
  })

  test('counts a call once, whichever of usage and settlement comes first', () => {
    const events = aRun()
    const used = events.findIndex((each) => each.type === 'agent.usage')
    const swapped = events.slice()
    ;[swapped[used], swapped[used + 1]] = [{ ...events[used + 1]!, seq: events[used]!.seq }, { ...events[used]!, seq: events[used + 1]!.seq }]
    expect(foldAll(swapped).rows().map((row) => [row.usage, row.cost])).toEqual(foldAll(events).rows().map((row) => [row.usage, row.cost]))
  })

  test('a call whose process died is charged at its estimate', () => {
    seq = 0
    const rows = foldAll([event('run.started', 0), event('model.called', 2, { ...call, model: 'p:m' }), event('budget.settled', 5, { ...call, tokens: 50, cost: 7, status: 'orphaned', estimated: true, gauges: [] })]).rows()
    expect(rows[1]).toMatchObject({ usage: { input: 50 }, cost: 7, estimated: true, text: 'its process died; charged at the estimate' })
  })

  test('an unknown cost stays unknown', () => {
    seq = 0
    const rows = foldAll([
      event('run.started', 0), event('node.started', 1, { node_id: 'helper' }), event('model.called', 2, { ...call, model: 'p:m' }),
      event('agent.usage', 5, { ...call, model: 'p:m', usage: { input: 5, output: 1 }, cost: null }), event('run.finished', 9, { state: 'completed', cost: 0, unknown_cost: 1 }),
    ]).rows()
    expect(rows.map((row) => [row.kind, row.cost, row.unknown])).toEqual([['run', null, 1], ['node', 0, 1], ['call', null, 1]])
  })

  test('what ran when the run was cancelled is cancelled too', () => {
    seq = 0
    const rows = foldAll([event('run.started', 0), event('node.started', 1, { node_id: 'a' }), event('model.called', 2, { ...call, node_id: 'a' }), event('run.finished', 9, { state: 'cancelled' })]).rows()
    expect(rows.map((row) => [row.state, row.ms])).toEqual([['cancelled', 9], ['cancelled', 8], ['cancelled', 7]])
  })

  test('a body’s nodes stand below it', () => {
    seq = 0
    const rows = foldAll([event('run.started', 0), event('node.started', 1, { node_id: 'loop' }), event('node.started', 2, { node_id: 'loop/agent', visit: 2 })]).rows()
    expect(tree(rows)).toEqual(['run run running', '  node loop running', '    node loop/agent · visit 2 running'])
  })

  test('an event of a type that nobody knows is shown by its name with what it holds', () => {
    seq = 0
    const rows = foldAll([event('run.started', 0), event('moon.landed', 5, { crew: 3 })]).rows()
    expect(rows[1]).toMatchObject({ kind: 'note', what: 'moon.landed', text: '{"crew":3}', depth: 1 })
  })
})

describe('the filter', () => {
  const rows = foldAll(aRun()).rows()
  const all = { kinds: new Set<never>(), level: 'all' as const, text: '', folded: new Set<number>(), run: null }
  const kinds = (filter: Partial<Parameters<typeof shown>[1]>) => shown(rows, { ...all, ...filter }).map((row) => row.kind)

  test('keeps what a hit is in', () => {
    expect(kinds({ kinds: new Set(['tool']) })).toEqual(['run', 'node', 'call', 'tool'])
    expect(kinds({ text: 'NOON' })).toEqual(['run', 'node', 'call', 'tool'])
    expect(kinds({ level: 'problems' })).toEqual(['run', 'node', 'stop'])
    expect(kinds({ text: 'nowhere' })).toEqual([])
  })

  test('folds away what is below', () => {
    expect(kinds({ folded: new Set([rows[1]!.seq]) })).toEqual(['run', 'node', 'node'])
    expect(kinds({ run: 'another' })).toEqual([])
  })
})

describe('the window', () => {
  test('covers what is on the screen, whatever the heights', () => {
    const heights = Array.from({ length: 10_000 }, (_, i) => (i % 50 === 0 ? 52 : 28))
    const sums = offsets(heights)
    for (const top of [0, 1, 27, 28, 5000, 123_456, sums.total - 600, sums.total + 50]) {
      const { from, to } = visible(sums, top, 600, 0)
      expect(sums.starts[from]!).toBeLessThanOrEqual(Math.max(0, Math.min(top, sums.total)))
      const end = to < heights.length ? sums.starts[to]! : sums.total
      expect(end).toBeGreaterThanOrEqual(Math.min(top + 600, sums.total))
      expect(to - from).toBeLessThan(30)
    }
  })

  test('an empty list has nothing to draw', () => {
    expect(visible(offsets([]), 0, 600)).toEqual({ from: 0, to: 0 })
    expect(rowAt(offsets([10, 10]).starts, -5)).toBe(0)
  })
})

test('ten thousand events fold in a blink', () => {
  const events: Event[] = []
  seq = 0
  events.push(event('run.started', 0))
  for (let i = 0; i < 3333; i += 1) {
    events.push(event('model.called', i, { node_id: 'helper', step: i, call: `c${i}`, model: 'p:m' }))
    events.push(event('agent.usage', i, { node_id: 'helper', step: i, call: `c${i}`, model: 'p:m', usage: { input: 1, output: 1 }, cost: 1 }))
    events.push(event('budget.settled', i, { node_id: 'helper', step: i, call: `c${i}`, tokens: 2, cost: 1, gauges: [] }))
  }
  const begin = performance.now()
  const rows = foldAll(events).rows()
  expect(rows).toHaveLength(3334)
  expect(rows[0]!.usage).toMatchObject({ input: 3333 })
  expect(performance.now() - begin).toBeLessThan(1000)
})

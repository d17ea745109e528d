import { describe, expect, test } from 'vitest'
import type { BudgetInfo, LedgerRow } from '../src/api/types'
import { amountTicks, marksOf, timeTicks } from '../src/budgets/axes'
import { ruled } from '../src/budgets/Burn'
import { burn, limitSteps, merged, periodEnd, placeOf, rowsOf, usedBefore } from '../src/budgets/rows'

const KEY = { pot: 'f1/daily', metric: 'tokens', period: 'daily', owner: 'ada', start: '2026-03-01T00:00:00Z' }
const BUDGET: BudgetInfo = { key: KEY, name: 'daily', flow: 'Shop', session: null, own_limit: 150, used: 100, held: 0, unknown: 0, limit: 200, threshold_pct: 80, resets_at: null, current: true }
const row = (id: number, fields: Partial<LedgerRow> = {}) =>
  ({ id, at: `2026-03-01T0${id}:00:00Z`, kind: 'settle', usage: { input: 10, output: 0 }, cost: '0.1', metric: null, amount: null, ...fields }) as LedgerRow

describe('what a counter used over time', () => {
  test('adds up from what was used before the rows that are shown', () => {
    const rows = [row(3), row(2)]
    expect(usedBefore(rows, BUDGET, false)).toBe(80)
    expect(burn(rows, 'tokens', 80).map((point) => point.total)).toEqual([90, 100])
    expect(usedBefore(rows, BUDGET, true)).toBe(0)
  })

  test('counts from nothing after a reset', () => {
    expect(burn([row(1), row(2, { kind: 'reset' }), row(3)], 'tokens').map((point) => point.total)).toEqual([10, 0, 10])
  })

  test('asks for the rows of its own user and period alone', () => {
    expect(rowsOf(BUDGET)).toEqual({ pot: 'f1/daily', user: 'ada', since: KEY.start, until: '2026-03-02T00:00:00.000Z' })
    expect(rowsOf({ ...BUDGET, key: { ...KEY, owner: '*' } })).not.toHaveProperty('user')
    expect(rowsOf({ ...BUDGET, key: { ...KEY, period: 'run', owner: 'r1', start: '' } })).toEqual({ pot: 'f1/daily', run: 'r1', since: undefined, until: undefined })
  })

  test.each([['monthly', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00.000Z'], ['weekly', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00.000Z'], ['total', '', null]])(
    'a %s period from %j ends at %j', (period, start, end) => expect(periodEnd(period, start)).toBe(end))
})

describe('a limit over time', () => {
  const raise = (id: number, amount: number, fields: Partial<LedgerRow> = {}) =>
    row(id, { kind: 'raise', amount, metric: 'tokens', period: 'daily', owner: 'ada', start: KEY.start, for_good: false, ...fields })

  test('without a raise is the one that holds', () => expect(limitSteps([], BUDGET)).toEqual([{ at: -Infinity, limit: 200 }]))

  test('steps at the time of each raise, from the limit of its own', () => {
    const steps = limitSteps([raise(5, 200), raise(2, 180)], BUDGET)
    expect(steps).toEqual([{ at: -Infinity, limit: 150 }, { at: Date.parse('2026-03-01T02:00:00Z'), limit: 180 }, { at: Date.parse('2026-03-01T05:00:00Z'), limit: 200 }])
  })

  test('begins with what an earlier period was raised to for good, and heeds no other counter', () => {
    const earlier = { start: '2026-02-27T00:00:00Z' }
    const rows = [raise(4, 200), raise(3, 9, { owner: 'bob' }), raise(3, 8, { period: 'weekly' }), raise(3, 7, { metric: 'spend' }), raise(2, 190, { ...earlier, for_good: true }), raise(1, 5, earlier)]
    expect(limitSteps(rows, BUDGET).map((step) => step.limit)).toEqual([190, 200])
    expect(limitSteps([raise(2, 200, { ...earlier, for_good: true })], BUDGET).map((step) => step.limit)).toEqual([200])
  })

  test('is drawn as a line that steps, from where it is known', () => {
    const line = (steps: Parameters<typeof ruled>[0], share = 1) => ruled(steps, share, 100, (at) => (at === -Infinity ? 0 : at), (amount) => amount)
    expect(line([{ at: -Infinity, limit: 10 }, { at: 40, limit: 20 }])).toBe('M0.0 10.0L40.0 10.0L40.0 20.0L100.0 20.0')
    expect(line([{ at: -Infinity, limit: null }, { at: 40, limit: 20 }], 0.5)).toBe('M40.0 10.0L100.0 10.0')
  })
})

describe('pages of rows', () => {
  test('are put together newest first, each row once', () => {
    expect(merged([row(3), row(2)], [row(4), row(3), row(1)]).map((each) => each.id)).toEqual([4, 3, 2, 1])
  })
})

describe('axes', () => {
  test.each([[0.5e9, [0, 1e8, 2e8, 3e8, 4e8, 5e8]], [1000, [0, 200, 400, 600, 800, 1000]], [7, [0, 2, 4, 6]], [1, [0, 1]], [0, [0]]])('amounts up to %d stand at %j', (top, at) => expect(amountTicks(top)).toEqual(at))

  test('a day is cut at whole hours, a month at whole days, and never more than asked for', () => {
    const from = Date.parse(KEY.start)
    expect(timeTicks(from, from + 86_400_000).map((tick) => tick.text)).toEqual(['00:00', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00', '21:00', '00:00'])
    const month = timeTicks(from, from + 31 * 86_400_000)
    expect(month.every((tick) => /^\d\d-\d\d$/.test(tick.text))).toBe(true)
    for (const span of [1, 1000, 3_600_000, 86_400_000, 365 * 86_400_000, 4000 * 86_400_000]) {
      const ticks = timeTicks(from + 17, from + 17 + span)
      expect(ticks.length).toBeGreaterThan(0)
      expect(ticks.length).toBeLessThanOrEqual(9)
    }
  })

  test('a raise and a reset are marks, those of another metric are not', () => {
    const rows = [row(1, { kind: 'raise', amount: 300, metric: 'tokens' }), row(2, { kind: 'reset', metric: 'tokens' }), row(3, { kind: 'raise', amount: '2', metric: 'spend' }), row(4)]
    expect(marksOf(rows, KEY).map((mark) => mark.text)).toEqual(['limit 300', 'reset'])
  })
})

describe('where a budget is', () => {
  test.each([[{}, 'in Shop'], [{ flow: null, key: { ...KEY, pot: 'shared:team' } }, 'shared by flows'], [{ flow: null, key: { ...KEY, pot: 'settings/own' } }, 'from the settings'], [{ flow: null, key: { ...KEY, pot: 'limit/spend' } }, 'given for one run']])(
    '%j reads %j', (fields, words) => expect(placeOf({ ...BUDGET, ...fields })).toBe(words))
})

// Where the lines of a chart stand, and what is written at them. Pure; times are UTC, as budgets are.
import type { BudgetKey, LedgerRow } from '../api/types'
import { amountText } from '../lib/money'
import { changes } from './rows'

export interface Tick {
  at: number
  text: string
}

export interface Mark extends Tick {
  kind: 'raise' | 'reset'
}

/** Round amounts from nothing to `top`, at most `most` of them besides nothing. */
export function amountTicks(top: number, most = 5): number[] {
  if (!(top > 0)) return [0]
  const rough = top / most
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * (1 - 1e-9))!)
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => i * step)
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY]

/** Whole minutes, hours or days between two instants, at most `most` of them; the first instant where none lies between. */
export function timeTicks(from: number, to: number, most = 8): Tick[] {
  const step = STEPS.find((each) => (to - from) / each <= most) ?? Math.ceil((to - from) / most / DAY) * DAY
  const text = (at: number) => (step < DAY ? new Date(at).toISOString().slice(11, 16) : new Date(at).toISOString().slice(5, 10))
  const found: Tick[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push({ at, text: text(at) })
  return found.length ? found : [{ at: from, text: new Date(from).toISOString().slice(11, 19) }]
}

/** Raises and resets of this counter, which are rows among its calls. */
export function marksOf(rows: readonly LedgerRow[], key: BudgetKey): Mark[] {
  return rows.filter((row) => (row.kind === 'raise' || row.kind === 'reset') && changes(row, key) && (row.start ?? key.start) === key.start).map((row) => ({
    at: Date.parse(row.at), kind: row.kind as Mark['kind'], text: row.kind === 'reset' ? 'reset' : `limit ${amountText(key.metric, row.amount, true)}`,
  })).sort((a, b) => a.at - b.at)
}

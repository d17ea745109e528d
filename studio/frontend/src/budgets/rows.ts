// Ledger rows and counters as the page draws them. Pure.
import type { BudgetInfo, Gauge, LedgerRow } from '../api/types'
import { amountOf, nanosOf } from '../lib/money'

export const gaugeOf = (budget: BudgetInfo): Gauge => ({
  budget: budget.name ?? budget.key.pot, pot: budget.key.pot, metric: budget.key.metric, period: budget.key.period, used: budget.used, held: budget.held,
  limit: budget.limit, threshold_pct: budget.threshold_pct, unknown: budget.unknown, resets_at: budget.resets_at,
})

/** Rows that say what was used; the others say what was held, let go or changed. */
export const isUse = (row: LedgerRow) => row.kind === 'settle' || row.kind === 'correct'

/** What a row adds to a counter of this metric. */
export function amountOfRow(row: LedgerRow, metric: string): number {
  if (!isUse(row)) return 0
  return metric === 'tokens' ? (row.usage.input ?? 0) + (row.usage.output ?? 0) : (nanosOf(row.cost) ?? 0)
}

export interface Point {
  at: number
  total: number
}

/** The running total over time, oldest first. */
export function burn(rows: readonly LedgerRow[], metric: string): Point[] {
  const sorted = rows.filter(isUse).map((row) => ({ at: Date.parse(row.at), amount: amountOfRow(row, metric) })).sort((a, b) => a.at - b.at)
  let total = 0
  return sorted.map(({ at, amount }) => ({ at, total: (total += amount) }))
}

export interface Share {
  name: string
  amount: number
}

/** Who used how much, largest first; all beyond the fifth together. */
export function shares(rows: readonly LedgerRow[], metric: string, by: 'flow_id' | 'model' | 'purpose'): Share[] {
  const found = new Map<string, number>()
  for (const row of rows) {
    const amount = amountOfRow(row, metric)
    const name = row[by] || 'unknown'
    if (amount > 0) found.set(name, (found.get(name) ?? 0) + amount)
  }
  const all = [...found].map(([name, amount]) => ({ name, amount })).sort((a, b) => b.amount - a.amount)
  return all.length <= 5 ? all : [...all.slice(0, 4), { name: `${all.length - 4} others`, amount: all.slice(4).reduce((sum, each) => sum + each.amount, 0) }]
}

export const limitOf = (budget: BudgetInfo) => amountOf(budget.key.metric, budget.limit)

const STATES: Record<string, string> = { settled: 'settled', released: 'released', corrected: 'corrected', orphaned: 'orphaned (charged at its estimate)' }

/** What a row says of its call. A hold is never edited: whether it was settled since, another row says. */
export function stateOfRow(row: Pick<LedgerRow, 'kind' | 'status' | 'estimated'>): string {
  if (row.kind === 'hold') return 'held'
  const state = row.status ?? row.kind
  return `${STATES[state] ?? state}${row.estimated && state !== 'orphaned' ? ' (estimated)' : ''}`
}

/** Where a cost is from, as a person reads it. */
export const sourceText = (source: string | null) => (source === 'estimate' ? 'estimated' : (source ?? ''))

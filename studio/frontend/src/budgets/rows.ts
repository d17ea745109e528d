// Ledger rows and counters as the page draws them. Pure.
import type { BudgetInfo, BudgetKey, Gauge, LedgerRow } from '../api/types'
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

/** The running total over time, oldest first, begun at what was used before the first of these rows. A reset counts
 * from nothing again. */
export function burn(rows: readonly LedgerRow[], metric: string, before = 0): Point[] {
  const sorted = rows.filter((row) => isUse(row) || row.kind === 'reset').map((row) => ({ row, at: Date.parse(row.at) })).sort((a, b) => a.at - b.at || a.row.id - b.row.id)
  let total = before
  return sorted.map(({ row, at }) => ({ at, total: (total = row.kind === 'reset' ? 0 : total + amountOfRow(row, metric)) }))
}

/** What the counter had used before the rows that are shown: nothing, where they are all of them. */
export function usedBefore(rows: readonly LedgerRow[], budget: BudgetInfo, all: boolean): number {
  if (all || rows.some((row) => row.kind === 'reset')) return 0
  const shown = rows.reduce((sum, row) => sum + amountOfRow(row, budget.key.metric), 0)
  return Math.max(0, (amountOf(budget.key.metric, budget.used) ?? 0) - shown)
}

const DAY = 86_400_000

/** Where a period ends that began at `start`, as an ISO time; null where it has no end of its own. */
export function periodEnd(period: string, start: string): string | null {
  const from = new Date(start)
  if (!start || Number.isNaN(from.getTime())) return null
  if (period === 'daily') return new Date(from.getTime() + DAY).toISOString()
  if (period === 'weekly') return new Date(from.getTime() + 7 * DAY).toISOString()
  if (period === 'monthly') return new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1)).toISOString()
  return null
}

/** Which rows of the ledger this counter counted. */
export function rowsOf({ key }: BudgetInfo): Record<string, string | undefined> {
  const whose = key.period === 'run' ? { run: key.owner } : key.period === 'session' ? { session: key.owner } : isEveryone(key.owner) ? {} : { user: key.owner }
  return { pot: key.pot, since: key.start || undefined, until: periodEnd(key.period, key.start) ?? undefined, ...whose }
}

export const isEveryone = (owner: string) => owner === '' || owner === '*'

/** Pages put together: newest first, each row once, however they overlap. */
export function merged(a: readonly LedgerRow[], b: readonly LedgerRow[]): LedgerRow[] {
  return [...new Map([...a, ...b].map((row) => [row.id, row])).values()].sort((x, y) => y.id - x.id)
}

/** Whose budget it is, in words that tell two of one name apart. */
export function placeOf({ key, flow }: Pick<BudgetInfo, 'key' | 'flow'>): string {
  if (flow) return `in ${flow}`
  if (key.pot.startsWith('shared:')) return 'shared by flows'
  if (key.pot.startsWith('settings/')) return 'from the settings'
  return key.pot.startsWith('limit/') ? 'given for one run' : key.pot
}

/** Whether a raise or a reset is of this counter: of its own period, or for good in an earlier one. */
export const changes = (row: LedgerRow, key: BudgetKey): boolean =>
  (row.metric ?? key.metric) === key.metric && (row.period ?? key.period) === key.period && (row.owner ?? key.owner) === key.owner
  && ((row.start ?? key.start) === key.start || (row.kind === 'raise' && row.for_good && row.start! < key.start))

/** The limit over time: what held when the period began, then each raise from its time on. Null: it is not known. */
export interface LimitStep {
  at: number
  limit: number | null
}

export function limitSteps(rows: readonly LedgerRow[], { key, own_limit, limit }: Pick<BudgetInfo, 'key' | 'own_limit' | 'limit'>): LimitStep[] {
  const raises = rows.filter((row) => row.kind === 'raise' && changes(row, key)).sort((a, b) => a.id - b.id)
  const amount = (row: LedgerRow) => amountOf(key.metric, row.amount)
  const within = raises.filter((row) => (row.start ?? key.start) === key.start)
  const before = raises.findLast((row) => !within.includes(row))
  // Without a raise in the period, what holds now has held from its beginning.
  const first = !within.length ? amountOf(key.metric, limit) : before ? amount(before) : amountOf(key.metric, own_limit)
  return [{ at: -Infinity, limit: first }, ...within.map((row) => ({ at: Date.parse(row.at), limit: amount(row) }))]
}

export interface Share {
  name: string
  amount: number
}

/** Who used how much, by the name that people know, largest first; all beyond the fifth together. */
export function shares(rows: readonly LedgerRow[], metric: string, by: 'flow_id' | 'model' | 'purpose', names: Readonly<Record<string, string>> = {}): Share[] {
  const found = new Map<string, number>()
  for (const row of rows) {
    const amount = amountOfRow(row, metric)
    const name = row[by] || 'unknown'
    if (amount > 0) found.set(name, (found.get(name) ?? 0) + amount)
  }
  const all = [...found].map(([id, amount]) => ({ name: names[id] ?? id, amount })).sort((a, b) => b.amount - a.amount)
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

// What a stop card proposes. Pure.
import type { Gauge } from '../api/types'
import { amountOf, decimal } from '../lib/money'

/** Twice the limit, or what was used and half again: a first guess to change. */
export function proposal(gauge: Gauge): string {
  const limit = amountOf(gauge.metric, gauge.limit) ?? 0
  const used = amountOf(gauge.metric, gauge.used) ?? 0
  const amount = Math.max(limit * 2, Math.ceil(used * 1.5))
  return gauge.metric === 'spend' ? decimal(amount) : String(amount)
}

/** Whether what stands in the flow is the limit of this gauge. */
export const limitNow = (gauge: Gauge, config: unknown) =>
  amountOf(gauge.metric, config === undefined || config === null ? '0' : String(config)) === amountOf(gauge.metric, gauge.limit)

/** The config field that a gauge's words name: "`limit` of the budget 'daily'". */
export const fieldOf = (gauge: Gauge) => /`([\w.]+)`/.exec(gauge.field ?? '')?.[1] ?? 'limit'

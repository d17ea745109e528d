// A budget as a bar: used solid, held striped, unknown hatched, the threshold a tick. In words beside it.
import type { Gauge } from '../api/types'
import { amountOf, amountText, count, fixedDollars } from '../lib/money'
import { PERIOD_WORDS } from '../lib/text'
import { resets } from '../lib/time'

export type Level = 'ok' | 'warn' | 'stop'

export interface Filled {
  used: number
  held: number
  limit: number | null
  level: Level
  usedPct: number
  heldPct: number
}

export function filled(gauge: Pick<Gauge, 'metric' | 'used' | 'held' | 'limit' | 'threshold_pct'>): Filled {
  const used = amountOf(gauge.metric, gauge.used) ?? 0
  const held = amountOf(gauge.metric, gauge.held) ?? 0
  const limit = amountOf(gauge.metric, gauge.limit)
  const share = (n: number) => (limit === null ? 0 : limit === 0 ? 100 : Math.min(100, (n / limit) * 100))
  const usedPct = share(used)
  const level: Level = limit !== null && used >= limit ? 'stop' : limit !== null && gauge.threshold_pct != null && used * 100 >= gauge.threshold_pct * limit ? 'warn' : 'ok'
  return { used, held, limit, level, usedPct, heldPct: Math.min(100 - usedPct, share(held)) }
}

/** `$0.31 of $0.50 today, resets 00:00 UTC Tuesday`; "at least" where a cost is unknown. */
export function gaugeText(gauge: Gauge, withReset = true): string {
  const least = gauge.unknown ? 'at least ' : ''
  const limit = gauge.limit === null ? 'no limit' : amountText(gauge.metric, gauge.limit)
  const when = withReset ? resets(gauge.resets_at) : ''
  return `${least}${amountText(gauge.metric, gauge.used, true)} of ${limit} ${PERIOD_WORDS[gauge.period] ?? gauge.period}${when ? `, ${when}` : ''}`
}

/** What is left, for a narrow column. */
export function leftText(gauge: Gauge): string {
  const { used, limit } = filled(gauge)
  if (limit === null) return ''
  const left = Math.max(0, limit - used)
  return gauge.metric === 'spend' ? fixedDollars(left) : count(left)
}

/** The gauge with the least of its limit left. */
export function tightest(gauges: readonly Gauge[]): Gauge | null {
  let found: Gauge | null = null
  for (const gauge of gauges) {
    if (gauge.limit !== null && (!found || filled(gauge).usedPct > filled(found).usedPct)) found = gauge
  }
  return found
}

export function GaugeBar({ gauge, label }: { gauge: Gauge; label?: string }) {
  const fill = filled(gauge)
  const threshold = gauge.threshold_pct
  return (
    <span className={`gauge ${fill.level}`} role="meter" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(fill.usedPct)}
      aria-valuetext={gaugeText(gauge)} aria-label={label ?? gauge.budget}>
      <span className="gauge-used" style={{ width: `${fill.usedPct}%` }} />
      <span className="gauge-held" style={{ width: `${fill.heldPct}%`, left: `${fill.usedPct}%` }} />
      {gauge.unknown ? <span className="gauge-unknown" style={{ left: `${fill.usedPct}%` }} title={`${gauge.unknown} calls of unknown cost`} /> : null}
      {threshold != null && threshold > 0 && threshold < 100 ? <span className="gauge-tick" style={{ left: `${threshold}%` }} /> : null}
    </span>
  )
}

// Amounts for people. Money is counted in integer nano-dollars as BigInt-safe numbers; nothing is rounded down.

export const NANO = 1_000_000_000

/** Nano-dollars of a decimal string such as "0.0123"; null for what is no amount. */
export function parseDollars(text: string): number | null {
  const found = /^\s*\$?(\d+)?(?:\.(\d{1,9})?)?\s*$/.exec(text)
  if (!found || (found[1] === undefined && !found[2])) return null
  const nanos = Number(found[1] ?? '0') * NANO + Number((found[2] ?? '').padEnd(9, '0'))
  return Number.isSafeInteger(nanos) ? nanos : null
}

/** `$0.0123`: at least two decimals, at most `digits`, rounded up so that nothing looks free. */
export function dollars(nanos: number | null | undefined, digits = 6): string {
  if (nanos === null || nanos === undefined) return 'unknown'
  const unit = 10 ** (9 - digits)
  const rounded = Math.ceil(nanos / unit) * unit
  const whole = Math.floor(rounded / NANO)
  const part = String(rounded % NANO).padStart(9, '0').slice(0, digits).replace(/0+$/, '').padEnd(2, '0')
  return `$${whole.toLocaleString('en-US')}.${part}`
}

/** Always five decimals, so that a column of amounts lines up. */
export function fixedDollars(nanos: number | null | undefined): string {
  if (nanos === null || nanos === undefined) return 'unknown'
  const rounded = Math.ceil(nanos / 10_000)
  return `$${Math.floor(rounded / 100_000).toLocaleString('en-US')}.${String(rounded % 100_000).padStart(5, '0')}`
}

/** A decimal string without an exponent, for a request. */
export function decimal(nanos: number): string {
  const part = String(nanos % NANO).padStart(9, '0').replace(/0+$/, '')
  return `${Math.floor(nanos / NANO)}${part ? `.${part}` : ''}`
}

/** Nano-dollars of a cost as the API gives it: a decimal string, or null for unknown. */
export function nanosOf(cost: string | null | undefined): number | null {
  return cost === null || cost === undefined ? null : parseDollars(cost)
}

/** Tokens or nano-dollars. Strings are decimal dollars where the metric is money (events give integers). */
export function amountOf(metric: string, value: number | string | null | undefined): number | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return value
  return metric === 'spend' ? parseDollars(value) : Number(value)
}

export function amountText(metric: string, value: number | string | null | undefined, bare = false, digits = 6): string {
  const amount = amountOf(metric, value)
  if (metric === 'spend') return dollars(amount, digits)
  if (amount === null) return 'unknown'
  return bare ? count(amount) : `${count(amount)} ${amount === 1 ? 'token' : 'tokens'}`
}

export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** `3.3k`, `1.2M`: for places where a number may not grow wide. */
export function short(value: number): string {
  if (value < 10_000) return count(value)
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 100_000 ? 1 : 0)}k`
  return `${(value / 1_000_000).toFixed(1)}M`
}

// The bar of a window: its parts in the order sent, what is kept for the answer, and what is free. Pure.
import type { BillDoc } from '../api/types'

export interface Slice {
  id: string
  kind: 'part' | 'buffer' | 'free'
  name: string
  tokens: number
  /** Of the bar's length, 0 to 100. */
  percent: number
  /** The part of the slice that came from the provider's cache, 0 to 1. */
  cached: number
  colour: number
}

export function slices(bill: Pick<BillDoc, 'parts' | 'window' | 'output_buffer' | 'tokens'>): Slice[] {
  const sent = bill.parts.reduce((sum, part) => sum + part.tokens, 0)
  const buffer = bill.window === null ? 0 : (bill.output_buffer ?? 0)
  const whole = Math.max(1, sent + buffer, bill.window ?? 0)
  const percent = (tokens: number) => (tokens / whole) * 100
  const found: Slice[] = bill.parts.flatMap((part, i) => (part.tokens > 0
    ? [{ id: `${i}`, kind: 'part' as const, name: part.name.replace(/_/g, ' '), tokens: part.tokens, percent: percent(part.tokens), cached: part.cached, colour: i % 6 }] : []))
  if (bill.window === null) return found
  const free = Math.max(0, bill.window - sent - buffer)
  if (free) found.push({ id: 'free', kind: 'free', name: 'free', tokens: free, percent: percent(free), cached: 0, colour: 0 })
  if (buffer) found.push({ id: 'buffer', kind: 'buffer', name: 'kept for the answer', tokens: buffer, percent: percent(buffer), cached: 0, colour: 0 })
  return found
}

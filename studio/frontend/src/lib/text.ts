// Words and small texts: shortening, JSON on one line, quoting for a shell, links that may be followed.

export const PERIOD_WORDS: Record<string, string> = {
  run: 'for this run', session: 'for this session', daily: 'today', weekly: 'this week', monthly: 'this month', lifetime: 'in all',
}

export function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/** A value as a person reads it: a text as itself, all else as JSON. */
export function shortJson(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A sentence begins large and ends with a stop, whoever wrote it. */
export function sentence(text: string | null | undefined): string {
  const trimmed = (text ?? '').trim()
  if (!trimmed) return ''
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?…:。！？]$/.test(begun) ? begun : `${begun}.`
}

/** A session that nobody named has a UUID, of which the two ends tell it from others. */
export function shortName(name: string): string {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(name) ? `${name.slice(0, 8)}…${name.slice(-4)}` : name
}

/** A budget inside a sentence; one whose name says that it is a budget is not called one twice. */
export function theBudget(name: string): string {
  if (name.toLowerCase() === 'budget') return 'the budget'
  return /budget/i.test(name) ? name : `the budget ${name}`
}

export function plural(n: number, word: string): string {
  return `${n.toLocaleString('en-US')} ${word}${n === 1 ? '' : 's'}`
}

/** `branches` → `branch`: good enough for names of fields. */
export function singular(word: string): string {
  if (/ies$/.test(word)) return word.replace(/ies$/, 'y')
  return /(ch|sh|ss|x)es$/.test(word) ? word.slice(0, -2) : word.replace(/([^s])s$/, '$1')
}

/** `max_iterations` → `Max iterations` */
export function words(name: string): string {
  const text = name.replace(/[_-]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').trim().toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** One argument for a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

export function sameJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  const keys = Object.keys(left)
  return keys.length === Object.keys(right).length && keys.every((key) => key in right && sameJson(left[key], right[key]))
}

export interface Piece {
  text: string
  href?: string
}

/** A text cut at its web addresses. Only http and https are links; all else stays text. */
export function linked(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const found of text.matchAll(/\bhttps?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}]/g)) {
    if (found.index > from) pieces.push({ text: text.slice(from, found.index) })
    pieces.push({ text: found[0], href: found[0] })
    from = found.index + found[0].length
  }
  if (from < text.length) pieces.push({ text: text.slice(from) })
  return pieces
}

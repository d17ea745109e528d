// A change that a consolidation proposes: its key, what is done and why, and whatever else it says. Pure.
import type { Obj } from '../api/types'

export interface ChangeWords {
  key: string
  action: string
  why: string
  rest: [string, unknown][]
}

const KNOWN = new Set(['key', 'action', 'why', 'version'])

export function changeOf(change: Obj): ChangeWords {
  const text = (name: string) => (typeof change[name] === 'string' ? (change[name] as string) : '')
  const said = (value: unknown) => value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && !value.length)
  return { key: text('key'), action: text('action') || 'change', why: text('why'), rest: Object.entries(change).filter(([name, value]) => !KNOWN.has(name) && said(value)) }
}

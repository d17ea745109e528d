// Undo and redo, pure: one step a gesture; quick changes of the same thing are one step.

export interface History<S> {
  readonly past: readonly S[]
  readonly future: readonly S[]
  readonly key: string
  readonly at: number
}

export const DEPTH = 200
/** Changes with one key that follow each other within so many milliseconds are one step. */
export const MERGE_MS = 1000

export function empty<S>(): History<S> {
  return { past: [], future: [], key: '', at: 0 }
}

/** Keep the state as it is before a change. An empty key never merges. */
export function record<S>(history: History<S>, before: S, key: string, now: number): History<S> {
  if (key !== '' && key === history.key && now - history.at < MERGE_MS) return { ...history, at: now }
  return { past: [...history.past.slice(1 - DEPTH), before], future: [], key, at: now }
}

export function undo<S>(history: History<S>, present: S): { history: History<S>; present: S } | null {
  const before = history.past.at(-1)
  if (before === undefined) return null
  return { present: before, history: { past: history.past.slice(0, -1), future: [present, ...history.future], key: '', at: 0 } }
}

export function redo<S>(history: History<S>, present: S): { history: History<S>; present: S } | null {
  const after = history.future[0]
  if (after === undefined) return null
  return { present: after, history: { past: [...history.past, present], future: history.future.slice(1), key: '', at: 0 } }
}

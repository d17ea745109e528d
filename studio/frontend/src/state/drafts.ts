// What was not saved is kept in the browser, so that a closed tab or a crash loses nothing.
import type { FlowDoc } from '../api/types'

export interface Draft {
  flow: FlowDoc
  hash: string | null
  at: string
}

const key = (place: string) => `farthing.draft:${place}`

export function keepDraft(place: string, draft: Draft): void {
  try {
    localStorage.setItem(key(place), JSON.stringify(draft))
  } catch {
    // Full or forbidden: the leave warning still holds.
  }
}

export function readDraft(place: string): Draft | null {
  try {
    const text = localStorage.getItem(key(place))
    return text ? (JSON.parse(text) as Draft) : null
  } catch {
    return null
  }
}

export function dropDraft(place: string): void {
  try {
    localStorage.removeItem(key(place))
  } catch {
    // Nothing was kept.
  }
}

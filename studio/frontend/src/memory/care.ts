// The words and sums of consolidation. Pure.
import type { Asking, CareProgress, Change, Consolidation } from '../api/types'
import { dollars, nanosOf } from '../lib/money'
import { plural } from '../lib/text'

export const changesOf = (data: Consolidation | null): Change[] => (data?.shelves ?? []).flatMap((each) => each.changes)

/** All changes, also those that are not sent. */
export const total = (data: Consolidation): number => data.shelves.reduce((sum, each) => sum + each.changes.length + each.more, 0)

/** A cost in words: null is not known. */
export const costText = (cost: string | null): string => (cost === null ? 'an unknown cost' : dollars(nanosOf(cost)))

/** `3,200 tokens for $0.004`; at least so much where some calls have no price. */
export function spentText(spent: Pick<CareProgress, 'tokens' | 'cost' | 'unknown'>): string {
  const atLeast = spent.unknown > 0 && spent.cost !== null ? 'at least ' : ''
  return `${plural(spent.tokens, 'token')} for ${atLeast}${costText(spent.cost)}`
}

/** Limits under which no more is used than was said. */
export function limitsOf(asking: Asking): string[] {
  return [`tokens=${asking.tokens}`, ...(asking.cost === null ? [] : [`spend=${asking.cost}`])]
}

/** The ids to leave out once these are chosen or not. */
export function choose(leave: ReadonlySet<string>, ids: readonly string[], chosen: boolean): Set<string> {
  const next = new Set(leave)
  for (const id of ids) {
    if (chosen) next.delete(id)
    else next.add(id)
  }
  return next
}

/** What an undo did. */
export function undoneText({ keys, left }: { keys: readonly string[]; left: readonly string[] }): string {
  const again = keys.length ? `${plural(keys.length, 'fact')} ${keys.length === 1 ? 'is' : 'are'} current again` : 'Taken back; no fact had been changed by it'
  return `${again}${left.length ? `; written since, and left as they are: ${left.join(', ')}` : ''}.`
}

const ACTIONS: Record<string, string> = { expire: 'retire', merge: 'retire', rewrite: 'merge', conflict: 'contradiction' }

export const actionText = (change: Pick<Change, 'action'>): string => ACTIONS[change.action] ?? change.action

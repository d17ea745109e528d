// The words and sums of consolidation. Pure.
import type { CareProgress, Change, Consolidation, Offer } from '../api/types'
import { dollars, nanosOf } from '../lib/money'
import { plural } from '../lib/text'

export const changesOf = (data: Consolidation | null): Change[] => (data?.shelves ?? []).flatMap((each) => each.changes)

/** Ids of all changes, also of those that are not sent. */
export const idsOf = (data: Consolidation | null): string[] => (data?.shelves ?? []).flatMap((each) => each.ids)

/** A cost in words: null is not known. */
export const costText = (cost: string | null): string => (cost === null ? 'an unknown cost' : dollars(nanosOf(cost)))

/** `3,200 tokens for $0.004`; at least so much where some calls have no price. */
export function spentText(spent: Pick<CareProgress, 'tokens' | 'cost' | 'unknown'>): string {
  const atLeast = spent.unknown > 0 && spent.cost !== null ? 'at least ' : ''
  return `${plural(spent.tokens, 'token')} for ${atLeast}${costText(spent.cost)}`
}

/** Limits under which no more is used than was said. */
export function limitsOf(offer: Pick<Offer, 'tokens' | 'cost'>): string[] {
  return [`tokens=${offer.tokens}`, ...(offer.cost === null ? [] : [`spend=${offer.cost}`])]
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

/** What a million tokens cost, in and out. */
export function priceText({ free, input, output }: Pick<Offer, 'free' | 'input' | 'output'>): string {
  if (free) return 'nothing'
  return input === null || output === null ? 'unknown' : `${dollars(nanosOf(input))} in, ${dollars(nanosOf(output))} out`
}

// What an erasure reached, in words. Pure.
import type { Receipt } from '../api/types'

const PLACES: Record<string, string> = {
  facts: 'versions of the fact itself', 'other facts': 'other facts, summaries and plans', events: 'events on timelines', calls: 'kept results of calls',
  inputs: 'inputs of runs', outputs: 'outputs of runs', turns: 'turns of conversations',
}

export const placesOf = (places: Record<string, number>) => Object.entries(places).map(([name, times]) => ({ place: PLACES[name] ?? name, times }))

/** What a person should know after an erasure. */
export function afterwards(receipt: Pick<Receipt, 'swept' | 'remains'>): string[] {
  return [
    ...(receipt.swept ? [] : ['Another program keeps the database open: bytes may stay in its log until that ends.']),
    ...(receipt.remains ? ['The same text stands in what is not this user’s, which was left as it is.'] : []),
  ]
}

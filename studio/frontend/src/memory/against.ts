// Which facts contradict one. Pure.
import type { Fact, Mark } from '../api/types'

export function againstOf(fact: Fact, marks: readonly Mark[], facts: readonly Fact[]): { mark: Mark; other: Fact | null }[] {
  return marks
    .filter((mark) => (mark.key === fact.key && mark.version === fact.version) || (mark.other === fact.key && mark.other_version === fact.version))
    .map((mark) => ({ mark, other: facts.find((each) => each.key === (mark.key === fact.key ? mark.other : mark.key)) ?? null }))
}

// Which cards the open flow has, without where they stand: told anew only when one comes, goes or is renamed.
import { create } from 'zustand'
import { useCatalog } from './catalog'
import { type CanvasNode, isCard } from './document'
import { useFlow } from './flow'

export interface CardKind {
  id: string
  type: string
}

export function cardKinds(nodes: readonly CanvasNode[], before: readonly CardKind[]): readonly CardKind[] {
  const found: CardKind[] = []
  let same = true
  for (const node of nodes) {
    if (!isCard(node)) continue
    const was = before[found.length]
    const kept = was?.id === node.id && was.type === node.data.type
    same &&= kept
    found.push(kept ? was : { id: node.id, type: node.data.type })
  }
  return same && found.length === before.length ? before : found
}

export const useCards = create<{ cards: readonly CardKind[] }>()(() => ({ cards: cardKinds(useFlow.getState().nodes, []) }))
useFlow.subscribe(({ nodes }, before) => {
  if (nodes === before.nodes) return
  const { cards } = useCards.getState()
  const now = cardKinds(nodes, cards)
  if (now !== cards) useCards.setState({ cards: now })
})

/** Ids of the open flow's nodes that are run; what is attached to others only governs them. */
export function executed(): string[] {
  const { types } = useCatalog.getState()
  return useCards.getState().cards.flatMap((card) => (types[card.type]?.attachment === false ? [card.id] : []))
}

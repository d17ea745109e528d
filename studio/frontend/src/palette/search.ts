// Find node types by what a person types: names first, then keywords and help.
import type { NodeType } from '../api/types'

export function search(types: readonly NodeType[], text: string): NodeType[] {
  const wanted = text.trim().toLowerCase()
  if (!wanted) return [...types]
  return types
    .map((type) => ({ type, rank: rank(type, wanted) }))
    .filter((each) => each.rank > 0)
    .sort((a, b) => b.rank - a.rank || a.type.title.localeCompare(b.type.title))
    .map((each) => each.type)
}

function rank(type: NodeType, wanted: string): number {
  const title = type.title.toLowerCase()
  if (title === wanted || type.name === wanted) return 5
  if (title.startsWith(wanted) || type.name.startsWith(wanted)) return 4
  if (type.keywords.some((word) => word.startsWith(wanted))) return 3
  if (title.includes(wanted)) return 2
  return [type.help, type.category].some((each) => each.toLowerCase().includes(wanted)) ? 1 : 0
}

/** From what a flow begins with to what refines it; a category of somebody's own comes last. */
const ORDER = ['Flow', 'Reason', 'Memory', 'Budget', 'Tools', 'Text', 'Steer']

export function byCategory(types: readonly NodeType[]): [string, NodeType[]][] {
  const found = new Map<string, NodeType[]>()
  for (const type of types) found.set(type.category, [...(found.get(type.category) ?? []), type])
  const place = (category: string) => (ORDER.includes(category) ? ORDER.indexOf(category) : ORDER.length)
  return [...found].sort(([a], [b]) => place(a) - place(b))
}

// Which nodes a person looks for. Pure.
export interface Findable {
  id: string
  /** Its type, as the palette calls it. */
  type: string
  summary: string
}

/** Nodes in which every word is found: those whose names begin with the text first, then those that have it in their names. */
export function found(nodes: readonly Findable[], text: string): Findable[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const whole = text.trim().toLowerCase()
  const rank = ({ id }: Findable) => (id.toLowerCase().startsWith(whole) ? 0 : id.toLowerCase().includes(whole) ? 1 : 2)
  return nodes
    .filter((node) => { const told = `${node.id} ${node.type} ${node.summary}`.toLowerCase(); return words.every((word) => told.includes(word)) })
    .map((node, i) => ({ node, i }))
    .sort((a, b) => rank(a.node) - rank(b.node) || a.i - b.i)
    .map(({ node }) => node)
}

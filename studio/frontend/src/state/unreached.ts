// Nodes that a run never came to before it ended early. Pure.
import type { NodeLive } from './run'

export const FRESH: NodeLive = {
  state: 'running', startedAt: 0, ms: null, usage: null, cost: null, unknown: 0, error: null, call: null, text: '', tool: null, warning: false,
}

/** States of a run, as it is told and as the timeline calls them, in which it came to its end. */
const WHOLE = new Set(['completed', 'done'])

/** The nodes with a word for each of `ids` of which a run that ended in `state` has none. */
export function withUnreached(nodes: Record<string, NodeLive>, ids: readonly string[], state: string): Record<string, NodeLive> {
  if (WHOLE.has(state)) return nodes
  const missing = ids.filter((id) => !nodes[id])
  return missing.length ? { ...nodes, ...Object.fromEntries(missing.map((id) => [id, { ...FRESH, state: 'unreached' as const }])) } : nodes
}

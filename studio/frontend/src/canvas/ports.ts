// Which ports of a node have an edge, and what tells the drawn parts of it.
import { createContext } from 'react'
import { create } from 'zustand'
import type { Port } from '../api/types'
import type { Wire } from '../state/document'
import { useFlow } from '../state/flow'

/** Which ports of a node have an edge, as `inputs in` and `outputs out`; asked for once a node, not once a port. */
export const Wired = createContext<ReadonlySet<string>>(new Set())

/** The canvas is so small that its print cannot be read. */
export const Far = createContext(false)

export const isAttachment = (port: Port) => port.kind !== 'message'

export function wiredPorts(id: string, edges: readonly Wire[]): string {
  const found = new Set<string>()
  for (const edge of edges) {
    if (edge.source === id) found.add(`outputs ${edge.sourceHandle ?? ''}`)
    if (edge.target === id) found.add(`inputs ${edge.targetHandle ?? ''}`)
  }
  return [...found].join('\n')
}

export const NO_PORTS: ReadonlySet<string> = new Set()

interface WiringState {
  of: readonly Wire[]
  wired: ReadonlyMap<string, ReadonlySet<string>>
}

/** For all nodes at once, told anew only when an edge changes: moving a node asks none of the others. A node whose
 * ports stayed as they were keeps its set. */
export function wiring(edges: readonly Wire[], before: WiringState['wired']): WiringState['wired'] {
  const found = new Map<string, Set<string>>()
  const add = (node: string, port: string) => {
    const own = found.get(node)
    if (own) own.add(port)
    else found.set(node, new Set([port]))
  }
  for (const edge of edges) {
    add(edge.source, `outputs ${edge.sourceHandle ?? ''}`)
    add(edge.target, `inputs ${edge.targetHandle ?? ''}`)
  }
  return new Map([...found].map(([node, ports]) => [node, sameSet(before.get(node), ports) ? before.get(node)! : ports]))
}

const sameSet = (a: ReadonlySet<string> | undefined, b: ReadonlySet<string>) => !!a && a.size === b.size && [...b].every((each) => a.has(each))

export const useWiring = create<WiringState>()(() => {
  const edges = useFlow.getState().edges
  return { of: edges, wired: wiring(edges, new Map()) }
})
useFlow.subscribe(({ edges }) => {
  const { of, wired } = useWiring.getState()
  if (of !== edges) useWiring.setState({ of: edges, wired: wiring(edges, wired) })
})

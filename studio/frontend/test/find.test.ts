import { describe, expect, test } from 'vitest'
import { found } from '../src/canvas/find'
import { readFlow } from '../src/state/document'
import { portFor } from '../src/state/ports'
import type { CardNode } from '../src/state/document'
import { CATALOG, FLOW } from './sample'

describe('a node that is looked for', () => {
  const nodes = [
    { id: 'sum-of-costs', type: 'Template', summary: '{{ a }}' }, { id: 'costs', type: 'Template', summary: '' }, { id: 'helper', type: 'Agent', summary: 'costs nothing' },
  ]

  test('is found by name first, then by what its card says', () => {
    expect(found(nodes, 'Cost').map((node) => node.id)).toEqual(['costs', 'sum-of-costs', 'helper'])
    expect(found(nodes, 'agent nothing').map((node) => node.id)).toEqual(['helper'])
    expect(found(nodes, ' ')).toHaveLength(3)
    expect(found(nodes, 'zebra')).toEqual([])
  })
})

describe('an edge that is let go on a node', () => {
  const { nodes, edges } = readFlow(FLOW, CATALOG)
  const helper = nodes.find((node) => node.id === 'helper') as CardNode
  const to = (side: 'inputs' | 'outputs', kind: string) => portFor(helper, { side, kind }, CATALOG, undefined, edges)

  test('goes to the port that fits, and to none where none does', () => {
    expect(to('outputs', 'budget')).toBe('purse')
    expect(to('outputs', 'memory')).toBe('shelf')
    expect(to('outputs', 'tool')).toBeNull()
  })

  test('goes to one that has no edge yet, and comes from the first', () => {
    const twice = { ...CATALOG, thinker: { ...CATALOG.thinker!, inputs: [{ ...CATALOG.thinker!.inputs[1]!, name: 'other' }, ...CATALOG.thinker!.inputs] } }
    const land = (drawn: typeof edges) => portFor(helper, { side: 'outputs', kind: 'memory' }, twice, undefined, drawn)
    expect(land(edges)).toBe('other')
    expect(land([...edges, { ...edges[1]!, targetHandle: 'other' }])).toBe('other')
    expect(land(edges.map((edge) => ({ ...edge, targetHandle: 'other' })))).toBe('shelf')
    expect(to('inputs', 'message')).toBe('out') // an edge more is no harm
  })
})

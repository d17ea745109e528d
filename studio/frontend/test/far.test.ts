import { describe, expect, test } from 'vitest'
import { drawWires, parted } from '../src/canvas/FarWires'
import { heightOf, portAbove } from '../src/canvas/FarCard'
import { wiring } from '../src/canvas/ports'
import { cardKinds } from '../src/state/cards'
import { makeWire, readFlow } from '../src/state/document'
import { CATALOG, FLOW } from './sample'

const read = () => readFlow(FLOW, CATALOG)
const IN = { name: 'in', kind: 'message' as const }
const OUT = { name: 'out', kind: 'message' as const }
const MEMORY = { name: 'memory', kind: 'memory' as const }

describe('the drawing from far off', () => {
  test('has every edge once, and one path for each kind', () => {
    const { nodes, edges } = read()
    const drawn = drawWires(nodes, edges, CATALOG, {}, new Set())
    expect(drawn.map((each) => each.kind).sort()).toEqual([...new Set(edges.map((edge) => edge.data!.kind))].sort())
    expect(drawn.map((each) => each.path.split('M').length - 1).reduce((a, b) => a + b)).toBe(edges.length)
  })

  test('leaves out an edge whose end is missing, and marks what leads to a running node', () => {
    const { nodes, edges } = read()
    const wire = edges.find((edge) => edge.data!.kind === 'message')!
    expect(drawWires(nodes.filter((node) => node.id !== wire.source), [wire], CATALOG, {}, new Set())).toEqual([])
    expect(drawWires(nodes, [wire], CATALOG, {}, new Set([wire.target]))[0]!.live).toBe(true)
  })

  test('an edge moves while one of its ends does', () => {
    const { edges } = read()
    const moved = edges[0]!.target
    const [still, loose] = parted(edges, new Set([moved]))
    expect(loose.every((edge) => edge.source === moved || edge.target === moved)).toBe(true)
    expect([...still, ...loose]).toHaveLength(edges.length)
    expect(loose.length).toBeGreaterThan(0)
  })

  test('a card is higher with more ports, and each port has its own height in it', () => {
    const one = { pill: false, card: undefined, inputs: [IN], outputs: [OUT] }
    const two = { ...one, outputs: [OUT, { ...OUT, name: 'other' }] }
    expect(heightOf(two)).toBeGreaterThan(heightOf(one))
    expect(portAbove(two.outputs, 'out', false)).toBeGreaterThan(portAbove(two.outputs, 'other', false))
    expect(portAbove([IN, MEMORY], 'in', true)).toBeLessThan(heightOf({ ...one, inputs: [IN, MEMORY] }))
  })
})

describe('what a move of a node does not change stays the same object', () => {
  test('the cards', () => {
    const { nodes } = read()
    const cards = cardKinds(nodes, [])
    expect(cardKinds(nodes.map((node) => ({ ...node, position: { x: 7, y: 7 } })), cards)).toBe(cards)
    expect(cardKinds(nodes.slice(1), cards)).not.toBe(cards)
    expect(cardKinds(nodes.map((node, i) => (i ? node : { ...node, id: 'renamed' })), cards)[0]).toMatchObject({ id: 'renamed' })
  })

  test('the ports with an edge, of a node whose edges stay', () => {
    const before = wiring([makeWire('a', 'out', 'b', 'in', 'message')], new Map())
    const after = wiring([makeWire('a', 'out', 'b', 'in', 'message'), makeWire('b', 'out', 'c', 'in', 'message')], before)
    expect(after.get('a')).toBe(before.get('a'))
    expect([...after.get('b')!]).toEqual(['inputs in', 'outputs out'])
  })
})

import { describe, expect, test } from 'vitest'
import { layout } from '../src/canvas/layout'
import { type Link, crossings, ordered } from '../src/canvas/order'
import { readFlow } from '../src/state/document'
import { messagePorts } from '../src/state/ports'
import { CATALOG, FLOW } from './sample'

const link = (from: string, to: string, out = 0.5, into = 0.5): Link => ({ from, to, out, into })

describe('the order of a layer', () => {
  test('two edges of one node cross where its ports say so', () => {
    const links = [link('r', 'a', 0.3), link('r', 'b', 0.6)]
    expect(crossings([['r'], ['a', 'b']], links)).toBe(0)
    expect(crossings([['r'], ['b', 'a']], links)).toBe(1)
    expect(ordered([['r'], ['b', 'a']], links)).toEqual([['r'], ['a', 'b']])
  })

  test('edges that share an end do not cross, and who is joined to nothing stays', () => {
    expect(crossings([['a', 'b'], ['c']], [link('a', 'c'), link('b', 'c')])).toBe(0)
    expect(ordered([['r'], ['x', 'b', 'a']], [link('r', 'a', 0.2), link('r', 'b', 0.8)])[1]).toEqual(['x', 'a', 'b'])
  })

  test('never are there more crossings than before, and nobody is lost', () => {
    let seed = 7
    const random = (below: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % below }
    let better = 0
    for (let round = 0; round < 60; round += 1) {
      const layers = Array.from({ length: 2 + random(4) }, (_, i) => Array.from({ length: 1 + random(7) }, (_, j) => `${i}.${j}`))
      const links = layers.slice(1).flatMap((layer, i) => Array.from({ length: random(12) }, () => link(layers[i]![random(layers[i]!.length)]!, layer[random(layer.length)]!, random(9) / 10, random(9) / 10)))
      const found = ordered(layers, links)
      expect(found.map((layer) => [...layer].sort())).toEqual(layers.map((layer) => [...layer].sort()))
      const [was, is] = [crossings(layers, links), crossings(found, links)]
      expect(is).toBeLessThanOrEqual(was)
      better += is < was ? 1 : 0
    }
    expect(better).toBeGreaterThan(20)
  })
})

describe('tidying what follows a router', () => {
  const ROUTES = ['refund', 'order', 'repair', 'other', 'default']
  const types = { ...CATALOG, fork: { ...CATALOG.thinker!, name: 'fork', outputs: ROUTES.map((name) => ({ ...CATALOG.source!.outputs[0]!, name })) } }
  const node = (id: string, type = 'thinker') => ({ id, type, config: {} })
  const heights = async (nodes: ReturnType<typeof node>[], edges: { source: string; target: string; source_port?: string }[]) => {
    const read = readFlow({ ...FLOW, nodes, edges, ui: {} }, types)
    return layout(read.nodes, read.edges, messagePorts(read.nodes, read.edges, types, {}))
  }

  // Each order of the file gives the library another one to begin with.
  test.each([[[4, 3, 2, 1, 0]], [[2, 0, 4, 1, 3]], [[1, 4, 0, 3, 2]]])('its branches stand in the order of the routes, whatever the file says: %j', async (mixed) => {
    const file = mixed.map((i) => ROUTES[i]!)
    const edges = [{ source: 'ask', target: 'r' }, ...file.map((name) => ({ source: 'r', source_port: name, target: `to-${name}` })), ...file.map((name) => ({ source: `to-${name}`, target: 'end' }))]
    const places = await heights([node('ask', 'source'), node('r', 'fork'), ...file.map((name) => node(`to-${name}`)), node('end', 'sink')], edges)
    const ys = ROUTES.map((name) => places[`to-${name}`]!.y)
    expect(ys).toEqual([...ys].sort((a, b) => a - b))
  })

  test('also where a branch is longer, goes straight to the end, or back to the router', async () => {
    const edges = [
      { source: 'ask', target: 'r' },
      { source: 'r', source_port: 'other', target: 'end' }, { source: 'r', source_port: 'repair', target: 'c' }, { source: 'r', source_port: 'order', target: 'b1' },
      { source: 'b1', target: 'b2' }, { source: 'b2', target: 'end' }, { source: 'c', target: 'r' }, { source: 'r', source_port: 'refund', target: 'a' }, { source: 'a', target: 'end' },
    ]
    const places = await heights([node('end', 'sink'), node('c'), node('b2'), node('b1'), node('a'), node('r', 'fork'), node('ask', 'source')], edges)
    expect(places.r!.x).toBeLessThan(places.c!.x)
    expect(places.a!.y).toBeLessThan(places.b1!.y)
    expect(places.b1!.y).toBeLessThan(places.c!.y)
  })
})

import { describe, expect, test } from 'vitest'
import { docks, inReadingOrder, layout } from '../src/canvas/layout'
import { readFlow } from '../src/state/document'
import { CATALOG, FLOW } from './sample'

describe('tidying', () => {
  const { nodes, edges } = readFlow(FLOW, CATALOG)

  test('pills dock to the card that they are attached to', () => {
    expect([...docks(nodes, edges)].map(([card, pills]) => [card, pills.map((pill) => pill.id)])).toEqual([['helper', ['notes']]])
  })

  test('messages go from left to right, and pills stand below their card', async () => {
    const places = await layout(nodes, edges)
    expect(places.question!.x).toBeLessThan(places.helper!.x)
    expect(places.helper!.x).toBeLessThan(places.answer!.x)
    expect(places.notes!.y).toBeGreaterThan(places.helper!.y + 60)
    expect(places['note:n1']).toBeUndefined()
  })
})

describe('tidying what is not joined yet', () => {
  const at = (id: string, x: number, y: number, type = 'template') => ({ id, type, config: {}, ui: { x, y } })
  const read = (docs: ReturnType<typeof at>[], edges: { source: string; target: string }[] = []) => readFlow({ ...FLOW, nodes: docs, edges, ui: {} }, CATALOG)

  test('reads what stands at about one height from left to right', () => {
    const { nodes } = read([at('c', 0, 300), at('b', 400, 20), at('a', 0, 0), at('d', 500, 330)])
    expect(inReadingOrder(nodes).map((node) => node.id)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('a few stand in one row, in the order in which they were read', async () => {
    const { nodes, edges } = read([at('three', 90, 400), at('one', 0, 0), at('two', 30, 200)])
    const places = await layout(nodes, edges)
    expect(new Set(Object.values(places).map((place) => place.y)).size).toBe(1)
    expect(places.one!.x).toBeLessThan(places.two!.x)
    expect(places.two!.x).toBeLessThan(places.three!.x)
  })

  test.each([6, 17, 100])('%i stand in rows whose columns line up, wider than high, and none lies on another', async (count) => {
    const { nodes, edges } = read(Array.from({ length: count }, (_, i) => at(`n${i}`, 0, i * 10)))
    const places = Object.values(await layout(nodes, edges))
    const columns = new Set(places.map((place) => place.x)).size
    const rows = new Set(places.map((place) => place.y)).size
    expect(new Set(places.map((place) => `${place.x} ${place.y}`)).size).toBe(count)
    expect(columns).toBeGreaterThanOrEqual(rows)
    expect(rows).toBe(Math.ceil(count / columns))
  })

  test('stands below what is joined, and pills that nothing has below all', async () => {
    const { nodes, edges } = read([at('a', 0, 0), at('b', 0, 0), at('alone', 0, 0), at('free', 0, 0, 'shelf')], [{ source: 'a', target: 'b' }])
    const places = await layout(nodes, edges)
    expect(places.b!.x).toBeGreaterThan(places.a!.x)
    expect(places.alone!.y).toBeGreaterThan(places.b!.y + 60)
    expect(places.free!.y).toBeGreaterThan(places.alone!.y + 60)
  })
})

import { describe, expect, test } from 'vitest'
import { docks, layout } from '../src/canvas/layout'
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

import { describe, expect, test } from 'vitest'
import type { NodeType } from '../src/api/types'
import { beside, freeSpot } from '../src/canvas/spot'
import type { CanvasNode } from '../src/state/document'

const CARD = { name: 'agent', attachment: false } as NodeType
const PILL = { name: 'memory', attachment: true } as NodeType
const card = (x: number, y: number, selected = false) => ({ id: `${x},${y}`, type: 'card', position: { x, y }, measured: { width: 200, height: 150 }, selected, data: {} }) as unknown as CanvasNode
const frame = { id: 'g', type: 'frame', position: { x: 0, y: 0 }, measured: { width: 900, height: 900 }, data: {} } as unknown as CanvasNode

describe('a new node', () => {
  test('lies where it was wanted when nothing is there', () => {
    expect(freeSpot([], CARD, { x: 103, y: 98 })).toEqual({ x: 100, y: 100 })
    expect(freeSpot([frame], CARD, { x: 100, y: 100 })).toEqual({ x: 100, y: 100 })
  })

  test('lies on no other node, however many there are', () => {
    const nodes: CanvasNode[] = []
    for (let i = 0; i < 6; i += 1) {
      const at = freeSpot(nodes, CARD, { x: 0, y: 0 })
      for (const other of nodes) expect(Math.abs(other.position.y - at.y)).toBeGreaterThanOrEqual(150)
      nodes.push(card(at.x, at.y))
    }
  })

  test('goes to the right of the selected card, and what is attached goes below it', () => {
    expect(beside([card(0, 0), card(300, 40, true)], CARD)).toEqual({ x: 560, y: 40 })
    expect(beside([card(300, 40, true)], PILL)).toEqual({ x: 300, y: 250 })
  })

  test('does not stand among what is attached: a card goes to the right of the last card', () => {
    const pill = { ...card(300, 250, true), id: 'notes', type: 'pill' } as CanvasNode
    expect(beside([card(0, 0), card(300, 40), pill], CARD)).toEqual({ x: 560, y: 40 })
    expect(beside([pill], CARD)).toEqual({ x: 560, y: 250 })
    expect(beside([card(300, 40), pill], PILL)).toEqual({ x: 560, y: 250 })
  })

  test('has no neighbour where none or several are selected', () => {
    expect(beside([card(0, 0)], CARD)).toBeNull()
    expect(beside([card(0, 0, true), card(300, 0, true)], CARD)).toBeNull()
  })
})

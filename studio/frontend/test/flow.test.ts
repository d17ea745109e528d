import { beforeEach, describe, expect, test, vi } from 'vitest'
import { useCatalog } from '../src/state/catalog'
import { currentDoc, dirty, useFlow } from '../src/state/flow'
import { CATALOG, FLOW, TYPES } from './sample'

const flow = () => useFlow.getState()
const ids = () => flow().nodes.map((node) => node.id)

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 })
  useCatalog.setState({ types: CATALOG, list: TYPES })
  flow().open(FLOW, { path: 'a.json', hash: 'h1', origin: '' }, true)
})

describe('the open flow', () => {
  test('is unsaved after a change, and saved again when the change is undone', () => {
    expect(dirty(flow())).toBe(false)
    flow().add(TYPES[1]!, { x: 0, y: 0 })
    expect(dirty(flow())).toBe(true)
    flow().undo()
    expect(dirty(flow())).toBe(false)
    expect(currentDoc()).toEqual(FLOW)
    flow().redo()
    expect(dirty(flow())).toBe(true)
  })

  test('a drag of many steps is one undo, and a press without a move is none', () => {
    flow().beginGesture()
    flow().endGesture()
    expect(flow().history.past).toHaveLength(0)
    flow().beginGesture()
    for (let x = 10; x <= 100; x += 10) flow().onNodes([{ id: 'helper', type: 'position', position: { x, y: 0 }, dragging: true }])
    flow().endGesture()
    expect(flow().history.past).toHaveLength(1)
    flow().undo()
    expect(flow().nodes.find((node) => node.id === 'helper')!.position.x).toBe(300)
  })

  test('typing in one field is one undo', () => {
    for (const text of ['a', 'ab', 'abc']) flow().setConfig('helper', { prompt: text }, 'prompt')
    expect(flow().history.past).toHaveLength(1)
    vi.advanceTimersByTime(2000)
    flow().setConfig('helper', { prompt: 'abcd' }, 'prompt')
    expect(flow().history.past).toHaveLength(2)
  })

  test('selecting is no change', () => {
    flow().select(['helper'])
    flow().onNodes([{ id: 'notes', type: 'select', selected: true }])
    expect(flow().history.past).toHaveLength(0)
    expect(dirty(flow())).toBe(false)
  })

  test('deleting a node takes its edges along, in one undo', () => {
    flow().select(['helper'])
    flow().remove()
    expect(ids()).not.toContain('helper')
    expect(flow().edges).toHaveLength(0)
    flow().undo()
    expect(flow().edges).toHaveLength(3)
  })

  test('an input that takes one edge has its edge replaced', () => {
    const other = flow().add(TYPES[2]!, { x: 0, y: 0 })
    expect(flow().connect({ source: other, sourceHandle: 'shelf', target: 'helper', targetHandle: 'shelf' })).toBe(true)
    expect(flow().edges.filter((edge) => edge.targetHandle === 'shelf').map((edge) => edge.source)).toEqual([other])
    expect(flow().connect({ source: other, sourceHandle: 'shelf', target: 'helper', targetHandle: 'in' })).toBe(false)
  })

  test('renaming a node renames it in edges and in the templates that it feeds', () => {
    expect(flow().rename('question', 'ask')).toBe(true)
    const doc = currentDoc()
    expect(doc.edges[0]).toEqual({ source: 'ask', target: 'helper' })
    expect(doc.nodes.find((node) => node.id === 'helper')!.config!.prompt).toBe('Say {{ inputs.ask }} twice: {{inputs.ask}}, {{ inputs.question_2 }}')
    expect(flow().rename('ask', 'helper')).toBe(false)
    expect(flow().rename('ask', '1 bad')).toBe(false)
  })

  test('a save gives the id and keeps the canvas', () => {
    flow().setMeta({ name: 'other' })
    flow().saved({ ...currentDoc(), id: 'new-id' }, 'b.json', 'h2')
    expect([flow().path, flow().hash, flow().meta.id, dirty(flow())]).toEqual(['b.json', 'h2', 'new-id', false])
  })

  test('tidying is an undo, laying out a flow without places is not', () => {
    flow().place({ helper: { x: 5, y: 5 } }, true)
    expect(dirty(flow())).toBe(false)
    flow().place({ helper: { x: 50, y: 5 } }, false)
    expect(flow().history.past).toHaveLength(1)
  })
})

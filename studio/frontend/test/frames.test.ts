import { beforeEach, describe, expect, test } from 'vitest'
import { useCatalog } from '../src/state/catalog'
import { currentDoc, useFlow } from '../src/state/flow'
import { around, carried, membersOf } from '../src/state/frames'
import { CATALOG, FLOW, TYPES } from './sample'

const node = (id: string, x: number, y: number, more: object = {}) => ({ id, position: { x, y }, measured: { width: 100, height: 50 }, ...more })
const frame = (x: number, y: number) => node('group:a', x, y, { type: 'frame', width: 300, height: 200 })

describe('groups', () => {
  test('hold the nodes whose middle is inside', () => {
    expect(membersOf(frame(0, 0), [frame(0, 0), node('in', 10, 10), node('edge', 240, 10), node('half', 251, 10), node('out', 400, 0)]).map((each) => each.id)).toEqual(['in', 'edge'])
  })

  test('go around what they hold, and around nothing are none', () => {
    const box = around([node('a', 0, 0), node('b', 200, 100)])!
    expect(membersOf({ id: 'f', position: { x: box.x, y: box.y }, ...box }, [node('a', 0, 0), node('b', 200, 100)])).toHaveLength(2)
    expect(around([])).toBeNull()
  })

  test('carry their nodes along, once, and nothing else', () => {
    const before = [frame(0, 0), node('in', 10, 10), node('both', 20, 20), node('out', 400, 0)]
    const after = [frame(50, 5), node('in', 10, 10), node('both', 70, 25), node('out', 400, 0)]
    expect(carried(before, after, new Set(['group:a', 'both'])).map((each) => each.position)).toEqual([{ x: 50, y: 5 }, { x: 60, y: 15 }, { x: 70, y: 25 }, { x: 400, y: 0 }])
  })
})

describe('in a flow', () => {
  beforeEach(() => {
    useCatalog.setState({ types: CATALOG, list: TYPES })
    useFlow.getState().open(FLOW, { path: 'a.json', hash: 'h', origin: '' }, true)
  })

  test('a group is written to the document, comes back, and is undone in one step', () => {
    useFlow.getState().select(['helper', 'answer'])
    useFlow.getState().group()
    const doc = currentDoc()
    expect(doc.ui!.groups).toHaveLength(1)
    expect(doc.nodes).toEqual(FLOW.nodes)
    useFlow.getState().open(doc, { path: 'a.json', hash: 'h', origin: '' }, true)
    expect(currentDoc()).toEqual(doc)
    useFlow.getState().onNodes([{ id: 'group:group', type: 'position', position: { x: 0, y: 0 } }])
    expect(useFlow.getState().nodes.find((each) => each.id === 'helper')!.position).not.toEqual({ x: 300, y: 0 })
    useFlow.getState().undo()
    expect(currentDoc()).toEqual(doc)
  })

  test('deleting a group keeps what it held', () => {
    useFlow.getState().select(['helper'])
    useFlow.getState().group()
    useFlow.getState().remove()
    expect(currentDoc()).toEqual(FLOW)
  })
})

import { describe, expect, test } from 'vitest'
import { DEPTH, MERGE_MS, empty, record, redo, undo } from '../src/state/history'

describe('history', () => {
  test('undo and redo walk the same states back and forth', () => {
    let history = record(record(empty<number>(), 1, '', 0), 2, '', 5)
    const back = undo(history, 3)!
    expect(back.present).toBe(2)
    const further = undo(back.history, back.present)!
    expect(further.present).toBe(1)
    expect(undo(further.history, further.present)).toBeNull()
    const forth = redo(further.history, further.present)!
    expect(forth.present).toBe(2)
    history = redo(forth.history, forth.present)!.history
    expect(redo(history, 3)).toBeNull()
  })

  test('quick changes of one thing are one step, slow ones and other things are not', () => {
    let history = record(empty<number>(), 1, 'a', 0)
    history = record(history, 2, 'a', MERGE_MS - 1)
    expect(history.past).toEqual([1])
    history = record(history, 3, 'b', MERGE_MS)
    history = record(history, 4, 'b', 3 * MERGE_MS)
    expect(history.past).toEqual([1, 3, 4])
  })

  test('after an undo the same key begins a new step', () => {
    const history = record(empty<number>(), 1, 'a', 0)
    const back = undo(history, 2)!
    expect(record(back.history, back.present, 'a', 1).past).toEqual([1])
  })

  test('a change forgets what was undone', () => {
    const back = undo(record(empty<number>(), 1, '', 0), 2)!
    expect(record(back.history, 1, '', 1).future).toEqual([])
  })

  test('the past is bounded', () => {
    let history = empty<number>()
    for (let i = 0; i < DEPTH * 2; i += 1) history = record(history, i, '', i)
    expect(history.past).toHaveLength(DEPTH)
    expect(history.past.at(-1)).toBe(DEPTH * 2 - 1)
  })
})

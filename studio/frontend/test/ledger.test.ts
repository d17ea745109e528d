import { describe, expect, test } from 'vitest'
import { sourceText, stateOfRow } from '../src/budgets/rows'

describe('rows of the ledger', () => {
  test.each([
    ['hold', 'open', true, 'held'], ['settle', 'settled', false, 'settled'], ['settle', 'settled', true, 'settled (estimated)'],
    ['release', 'released', false, 'released'], ['correct', 'corrected', false, 'corrected'],
    ['settle', 'orphaned', true, 'orphaned (charged at its estimate)'], ['raise', null, false, 'raise'],
  ])('a %s row, %j, estimated %j, reads %j', (kind, status, estimated, words) => expect(stateOfRow({ kind, status, estimated })).toBe(words))

  test.each([['estimate', 'estimated'], ['provider', 'provider'], [null, '']])('a cost from %j reads %j', (source, words) => expect(sourceText(source)).toBe(words))
})

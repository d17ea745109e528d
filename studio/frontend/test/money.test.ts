import { describe, expect, test } from 'vitest'
import { amountText, decimal, dollars, fixedDollars, parseDollars, short } from '../src/lib/money'
import { fieldOf, limitNow, proposal } from '../src/drawer/proposal'

describe('money', () => {
  test.each([
    ['0.0123', 12_300_000], ['$5', 5_000_000_000], ['.5', 500_000_000], ['0', 0], ['1.000000001', 1_000_000_001],
    ['', null], ['.', null], ['-1', null], ['1e3', null], ['1.0000000001', null], ['NaN', null], ['9'.repeat(20), null],
  ])('%j is %j nano-dollars', (text, nanos) => expect(parseDollars(text)).toBe(nanos))

  test.each([
    [0, '$0.00'], [310_000_000, '$0.31'], [12_300_000, '$0.0123'], [1, '$0.000001'], [1_999_999_999, '$2.00'], [1_234_500_000_000, '$1,234.50'],
  ])('%d nano-dollars read %s', (nanos, text) => expect(dollars(nanos)).toBe(text))

  test('an unknown amount is not zero', () => {
    expect(dollars(null)).toBe('unknown')
    expect(fixedDollars(undefined)).toBe('unknown')
    expect(amountText('tokens', null)).toBe('unknown')
  })

  test('a column has fixed digits and never rounds to nothing', () => {
    expect([0, 1, 1_790_000, 2_000_000_000].map(fixedDollars)).toEqual(['$0.00000', '$0.00001', '$0.00179', '$2.00000'])
  })

  test('a decimal string reads back as the same amount', () => {
    for (const nanos of [0, 1, 10, 999_999_999, 1_000_000_000, 1_230_000_000, 123_456_789_012]) expect(parseDollars(decimal(nanos))).toBe(nanos)
  })

  test('strings are dollars and numbers nano-dollars where money is counted, tokens otherwise', () => {
    expect(amountText('spend', '0.5')).toBe('$0.50')
    expect(amountText('spend', 500_000_000)).toBe('$0.50')
    expect(amountText('tokens', '1200')).toBe('1,200 tokens')
    expect(amountText('tokens', 1)).toBe('1 token')
  })

  test.each([[999, '999'], [9_999, '9,999'], [10_000, '10.0k'], [123_456, '123k'], [2_500_000, '2.5M']])('%d in short is %s', (n, text) => expect(short(n)).toBe(text))

  test('a proposed limit is above what was used', () => {
    const gauge = { budget: 'b', pot: 'p', metric: 'spend', period: 'daily', used: 900_000_000, held: 0, limit: 100_000_000 }
    expect(proposal(gauge)).toBe('1.35')
    expect(proposal({ ...gauge, metric: 'tokens', used: 10, limit: 100 })).toBe('200')
  })

  test('a flow’s limit is told from one that was raised', () => {
    const gauge = { budget: 'b', pot: 'p', metric: 'spend', period: 'daily', used: 0, held: 0, limit: 500_000_000, field: "`limit` of the budget 'b'" }
    expect([limitNow(gauge, '0.50'), limitNow(gauge, 0.5), limitNow(gauge, '1'), limitNow(gauge, undefined)]).toEqual([true, true, false, false])
    expect(limitNow({ ...gauge, metric: 'tokens', limit: 200 }, 200)).toBe(true)
    expect([fieldOf(gauge), fieldOf({ ...gauge, field: null })]).toEqual(['limit', 'limit'])
  })
})

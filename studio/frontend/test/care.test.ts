import { describe, expect, it } from 'vitest'
import type { Change, Consolidation, Fact, Mark } from '../src/api/types'
import { againstOf } from '../src/memory/against'
import { actionText, changesOf, choose, costText, idsOf, limitsOf, priceText, spentText, undoneText } from '../src/memory/care'
import { memoryWords } from '../src/timeline/words'

const shelf = { namespace: 'shop', scope: 'user', owner: 'ada' }
const change = (id: string, more: Partial<Change> = {}): Change => ({ id, action: 'merge', key: id, version: 1, why: '', by: null, text: null, judged_in: null, fact: null, other: null, ...more })
const fact = (key: string, version = 1): Fact => ({ key, version, value: key, recorded_at: '2026-01-01T00:00:00Z', shelf })
const event = (type: string, more: Record<string, unknown>) => ({ seq: 1, type, at: '2026-01-01T00:00:00Z', namespace: 'shop', scope: 'user', keys: [], ...more }) as never

describe('what a consolidation would change', () => {
  const data = { shelves: [{ shelf, changes: [change('a'), change('b')], ids: ['a', 'b', 'c', 'd', 'e'], conflicts: [], marks: [], more: 3, waiting: 0 }] } as unknown as Consolidation

  it('counts what is sent and what is not', () => {
    expect(changesOf(data).map((each) => each.id)).toEqual(['a', 'b'])
    expect(idsOf(data)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(idsOf(null)).toEqual([])
    expect(changesOf(null)).toEqual([])
  })

  it('is left out and chosen again', () => {
    const left = choose(new Set(['x']), ['a', 'b'], false)
    expect([...left].sort()).toEqual(['a', 'b', 'x'])
    expect([...choose(left, ['a', 'x'], true)]).toEqual(['b'])
  })

  it('has a word for each action', () => {
    expect(['expire', 'merge', 'rewrite', 'conflict', 'later'].map((action) => actionText({ action }))).toEqual(['retire', 'retire', 'merge', 'contradiction', 'later'])
  })
})

describe('what a model is asked', () => {
  const asking = { tokens: 1200, cost: '0.0213' }

  it('never uses more than was said', () => {
    expect(limitsOf(asking)).toEqual(['tokens=1200', 'spend=0.0213'])
    expect(limitsOf({ ...asking, cost: null })).toEqual(['tokens=1200'])
  })

  it('never costs nothing where the cost is unknown', () => {
    expect(costText(null)).toBe('an unknown cost')
    expect(spentText({ tokens: 1200, cost: '0.004', unknown: 0 })).toBe('1,200 tokens for $0.004')
    expect(spentText({ tokens: 1200, cost: '0.004', unknown: 1 })).toBe('1,200 tokens for at least $0.004')
    expect(spentText({ tokens: 1, cost: null, unknown: 1 })).toBe('1 token for an unknown cost')
  })

  it('has a price, which may be nothing or unknown', () => {
    expect(priceText({ free: false, input: '0.4', output: '1.6' })).toBe('$0.40 in, $1.60 out')
    expect(priceText({ free: true, input: '0', output: '0' })).toBe('nothing')
    expect(priceText({ free: false, input: null, output: null })).toBe('unknown')
  })

  it('is said on the timeline with who judged, what and for how much', () => {
    const verdicts = [{ key: 'dog', other: 'pet', relation: 'conflict', why: '2 or 3' }, { key: 'a', other: 'b', relation: 'different' }]
    expect(memoryWords(event('memory.judged', { verdicts, model: 'cloud:m', tokens: 1200, cost: 4_000_000 })).text).toBe('cloud:m, 1,200 tokens, $0.004: dog and pet contradict each other (2 or 3); 1 different')
    expect(memoryWords(event('memory.judged', { verdicts: [] })).text).toBe('')
  })

  it('becomes proposals, of which a row names a few', () => {
    const changes = Array.from({ length: 7 }, (_, i) => ({ key: `k${i}`, action: 'merge', by: 'home' }))
    expect(memoryWords(event('memory.proposed', { changes, actor: 'bo' })).text).toMatch(/^retire k0, home says the same; .*; and 2 more for bo$/)
    expect(memoryWords(event('memory.proposed', { changes: [] })).text).toBe('nothing to change')
  })
})

describe('a contradiction', () => {
  const mark: Mark = { key: 'dog', version: 1, other: 'pet', other_version: 2, why: 'one or two', judged_in: null }

  it('stands at both facts while both are as they were', () => {
    const facts = [fact('dog'), fact('pet', 2)]
    expect(againstOf(facts[0]!, [mark], facts)).toEqual([{ mark, other: facts[1] }])
    expect(againstOf(facts[1]!, [mark], [facts[1]!])).toEqual([{ mark, other: null }])
    expect(againstOf(fact('pet', 3), [mark], facts)).toEqual([])
  })

  it('is settled, and taken back, in words', () => {
    const changes = [{ key: 'pet', action: 'keep', by: 'dog' }]
    expect(memoryWords(event('memory.consolidated', { changes, actor: 'ada' })).text).toBe('dog is right, pet was retired by ada')
    expect(memoryWords(event('memory.consolidated', { undoes: 'b', keys: ['pet'], actor: 'ada' })).text).toBe('taken back: pet by ada')
    expect(undoneText({ keys: ['pet'], left: [] })).toBe('1 fact is current again.')
    expect(undoneText({ keys: [], left: [] })).toBe('Taken back; no fact had been changed by it.')
  })
})

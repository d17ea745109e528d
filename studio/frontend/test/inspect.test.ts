import { describe, expect, it } from 'vitest'
import { slices } from '../src/timeline/slices'

const part = (name: string, tokens: number, cached = 0) => ({ name, tokens, share: 0, cached, cost: null, items: [], more: 0, first: null, messages: null })

describe('the bar of a window', () => {
  it('shares the window between parts, what is free and what is kept for the answer', () => {
    const bar = slices({ parts: [part('system', 100, 1), part('blocks', 0), part('known_facts', 100)], window: 1000, output_buffer: 300, tokens: 200 })
    expect(bar.map((each) => [each.name, each.percent])).toEqual([['system', 10], ['known facts', 10], ['free', 50], ['kept for the answer', 30]])
    expect(bar[0]!.cached).toBe(1)
  })
  it('is the parts alone where no window is known', () => {
    const bar = slices({ parts: [part('a', 30), part('b', 10)], window: null, output_buffer: null, tokens: 40 })
    expect(bar.map((each) => each.percent)).toEqual([75, 25])
  })
  it('never passes its length', () => {
    const bar = slices({ parts: [part('a', 3000)], window: 1000, output_buffer: 300, tokens: 3000 })
    expect(bar.reduce((sum, each) => sum + each.percent, 0)).toBeCloseTo(100)
  })
})


import { describe, expect, test } from 'vitest'
import { afterwards, placesOf } from '../src/memory/receipt'

describe('the receipt of an erasure', () => {
  test('places read as words, and one that is not known by its name', () => {
    expect(placesOf({ events: 3, attics: 1 })).toEqual([{ place: 'events on timelines', times: 3 }, { place: 'attics', times: 1 }])
  })

  test('what stays behind is said, and nothing where nothing does', () => {
    expect(afterwards({ swept: true, remains: false })).toEqual([])
    expect(afterwards({ swept: false, remains: true })).toHaveLength(2)
  })
})

import { describe, expect, test } from 'vitest'
import { remedyHere } from '../src/app/remedies'

describe('what to do', () => {
  test('is said of the studio where the remedy names a command of the terminal', () => {
    expect(remedyHere('flow.no_nodes', '`farthing new` makes one to begin with.')).toContain('palette')
    expect(remedyHere('flow.empty', '`farthing new` makes one to begin with.')).not.toContain('farthing')
  })

  test('is else what the error says', () => {
    expect(remedyHere('flow.no_output', 'Add an output node.')).toBe('Add an output node.')
    expect(remedyHere('x', undefined)).toBeNull()
  })
})

import { describe, expect, test } from 'vitest'
import type { Schema } from '../src/api/types'
import { blank, bounds, completeVariable, describe as shapeOf, members, openVariable, readNumber, split, unitOf, withField } from '../src/inspector/model'
import { fieldPath, isAbout, problemText } from '../src/state/validation'

const ROOT: Schema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 64 },
    limit: { anyOf: [{ type: 'number' }, { type: 'string' }, { type: 'integer' }, { type: 'null' }], default: null },
    pct: { anyOf: [{ type: 'number', minimum: 0, maximum: 100 }, { type: 'string' }, { type: 'null' }], default: '80' },
    steps: { type: 'integer', default: 10, minimum: 1 },
    warm: { anyOf: [{ type: 'number' }, { type: 'null' }], default: null },
    on: { type: 'boolean', default: false },
    period: { enum: ['day', 'week'], type: 'string', default: 'day' },
    only: { const: 'tools', type: 'string', default: 'tools' },
    may: { type: 'array', items: { enum: ['read', 'write'], type: 'string' }, default: ['read'] },
    blocks: { type: 'array', items: { $ref: '#/$defs/Block' }, default: [] },
    deep: { $ref: '#/$defs/Deep', default: { tokens: 5 } },
    context: { discriminator: { propertyName: 'mode', mapping: {} }, oneOf: [{ $ref: '#/$defs/None' }, { $ref: '#/$defs/Keep' }], default: { mode: 'keep', keep: 40 } },
    either: { anyOf: [{ oneOf: [{ $ref: '#/$defs/None' }, { $ref: '#/$defs/Keep' }] }, { type: 'null' }], default: null },
    free: { default: null },
    any: { anyOf: [{ type: 'object', additionalProperties: true }, { type: 'null' }], default: null },
  },
  $defs: {
    Block: { type: 'object', required: ['name', 'content'], properties: { name: { type: 'string' }, content: { type: 'string' }, order: { type: 'integer', default: 0 } } },
    Deep: { type: 'object', description: 'Deep things.', properties: { tokens: { type: 'integer', default: 5 } } },
    None: { type: 'object', description: 'Nothing.', required: ['mode'], properties: { mode: { const: 'none', type: 'string' } } },
    Keep: { type: 'object', properties: { mode: { const: 'keep', default: 'keep', type: 'string' }, keep: { type: 'integer', default: 40 } } },
  },
}

const shape = (name: string) => shapeOf(ROOT.properties![name]!, ROOT, name)

describe('shapes of a schema', () => {
  test.each([
    ['name', 'text', false], ['limit', 'amount', true], ['pct', 'amount', true], ['steps', 'number', false], ['warm', 'number', true], ['on', 'bool', false], ['period', 'enum', false],
    ['only', 'enum', false], ['may', 'set', false], ['blocks', 'list', false], ['deep', 'object', false], ['context', 'union', false], ['either', 'union', true], ['any', 'json', true], ['free', 'json', true],
  ])('%s is %s, nullable %s', (name, kind, nullable) => expect([shape(name).kind, shape(name).nullable]).toEqual([kind, nullable]))

  test('a union is told apart by its tag', () => {
    expect(shape('context')).toMatchObject({ tagName: 'mode', variants: [{ tag: 'none', help: 'Nothing.' }, { tag: 'keep' }] })
    expect(shape('either').variants.map((variant) => variant.tag)).toEqual(['none', 'keep'])
  })

  test('help comes from the field, else from what it refers to', () => {
    expect(shape('deep').help).toBe('Deep things.')
  })

  test.each([['max_output_tokens', 'tokens'], ['timeout_s', 'seconds'], ['threshold_pct', '%'], ['half_life_days', 'days'], ['is', ''], ['tokens', 'tokens'], ['class', '']])('the unit of %s is %j', (name, unit) => expect(unitOf(name)).toBe(unit))
})

test('a unit that stands beside a field is not in its name', () => {
  expect([shapeOf({ type: 'number' }, ROOT, 'timeout_s').title, shapeOf({ type: 'integer' }, ROOT, 'max_output_tokens').title]).toEqual(['Timeout', 'Max output tokens'])
})

describe('values', () => {
  test('a section that has its default has nothing set, nor has what is in it', () => {
    expect(shape('deep').fallback).toEqual({})
    expect(withField({}, 'deep', {}, shape('deep'), false)).toEqual({})
    expect(withField({}, 'deep', { tokens: 6 }, shape('deep'), false)).toEqual({ deep: { tokens: 6 } })
    expect(shape('context').fallback).toEqual({ mode: 'keep' })
    expect(withField({}, 'context', { mode: 'keep' }, shape('context'), false)).toEqual({})
  })

  test('of a default that differs from those of its fields the difference stays', () => {
    const other: Schema = { $ref: '#/$defs/Outer', default: { deep: { tokens: 5 }, most: 3, list: [] } }
    const root: Schema = {
      ...ROOT,
      $defs: { ...ROOT.$defs, Outer: { type: 'object', properties: { deep: ROOT.properties!.deep!, most: { type: 'integer', default: 1 }, list: { type: 'array', items: {}, default: [] } } } },
    }
    expect(shapeOf(other, root, 'other').fallback).toEqual({ most: 3 })
  })

  test('a field with its default again is left out of the document', () => {
    expect(withField({ steps: 3, on: true }, 'steps', 10, shape('steps'), false)).toEqual({ on: true })
    expect(withField({}, 'context', { keep: 40, mode: 'keep' }, shape('context'), false)).toEqual({})
    expect(withField({}, 'pct', null, shape('pct'), false)).toEqual({ pct: null })
    expect(withField({}, 'name', '', shape('name'), true)).toEqual({ name: '' })
    expect(withField({ warm: 1 }, 'warm', null, shape('warm'), false)).toEqual({})
  })

  test('a new item has its required fields', () => {
    expect(blank(shapeOf(ROOT.properties!.blocks!.items!, ROOT), ROOT)).toEqual({ name: '', content: '' })
    expect(blank({ ...shape('either'), nullable: false, hasDefault: false }, ROOT)).toEqual({ mode: 'none' })
  })

  test('a default is copied, never shared', () => {
    const made = blank(shape('may'), ROOT) as string[]
    made.push('write')
    expect(shape('may').fallback).toEqual(['read'])
  })

  test('first what people change first, with what is set and what is wrong', () => {
    const all = members(ROOT, ROOT)
    const names = (found: { name: string }[]) => found.map((member) => member.name)
    const { first, more } = split(all, { on: true }, (name) => name === 'any')
    expect(names(first)).toEqual(['name', 'limit', 'pct', 'steps', 'on', 'any'])
    expect(first.length + more.length).toBe(all.length)
    expect(split(all.slice(0, 6), {}, () => false).more).toEqual([])
  })

  test.each([['', true, null], ['12', true, 12], ['1,200', true, 1200], ['1.5', true, undefined], ['1.5', false, 1.5], ['x', false, undefined], ['-3', true, -3], ['Infinity', false, undefined]])(
    'typed %j (whole: %s) is %j', (text, whole, value) => expect(readNumber(text, whole)).toBe(value))

  test('bounds are said in words', () => {
    expect(bounds(0, { minimum: 1 })).toBe('At least 1.')
    expect(bounds(0, { exclusiveMinimum: 0 })).toBe('More than 0.')
    expect(bounds(3, { minimum: 1, maximum: 3 })).toBeNull()
  })
})

describe('templates', () => {
  test('a variable is open between the braces only', () => {
    expect(openVariable('Hi {{ inp', 9)).toEqual({ from: 6, typed: 'inp' })
    expect(openVariable('Hi {{ input }} and', 18)).toBeNull()
    expect(openVariable('Hi', 2)).toBeNull()
  })

  test('completing closes the braces once', () => {
    expect(completeVariable('Hi {{ in', 8, 'inputs.a')).toEqual({ text: 'Hi {{ inputs.a }}', caret: 17 })
    expect(completeVariable('Hi {{in }}', 7, 'input').text).toBe('Hi {{ input }}')
    expect(completeVariable('Hi ', 3, 'input').text).toBe('Hi {{ input }}')
  })
})

describe('problems', () => {
  const at = (path: string) => fieldPath({ code: 'c', message: 'm', path })

  test.each([['$.nodes[2].config.context.keep', 'context.keep'], ['nodes.0.config.blocks[1].name', 'blocks.1.name'], ['config.limit', 'limit'], ['$.nodes[0].config', ''], ['edges[0]', null]])(
    '%s is in the field %j', (path, field) => expect(at(path)).toBe(field))

  test('are said as sentences, without the path that is shown beside them', () => {
    expect(problemText({ message: '$.nodes[1].config: give either', remedy: 'Change it', path: '$.nodes[1].config' })).toBe('Give either. Change it.')
    expect(problemText({ message: '$.nodes[9].config.branches[0].name is missing', remedy: null, path: '$.nodes[9].config.branches[0].name' })).toBe('Name is missing.')
    expect(problemText({ message: 'Done!', remedy: null, path: null })).toBe('Done!')
  })

  test('a union’s tag in the path does not hide the field', () => {
    expect(isAbout('context.keep.keep', 'context.keep')).toBe(true)
    expect(isAbout('limit', 'limit')).toBe(true)
    expect(isAbout('limit', 'limits')).toBe(false)
    expect(isAbout('context.keep', 'context')).toBe(false)
  })
})

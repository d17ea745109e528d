import { describe, expect, test } from 'vitest'
import { routeOf } from '../src/app/router'
import { command } from '../src/flows/command'
import { pathFor, suggestedPath } from '../src/flows/files'
import { linked, sameJson, sentence, shellQuote, shortName, singular, theBudget, words } from '../src/lib/text'
import { duration, resets } from '../src/lib/time'
import { search } from '../src/palette/search'
import { TYPES } from './sample'

describe('links', () => {
  test('only web addresses become links, and text around them stays text', () => {
    const text = 'See https://example.com/a?b=1. Not javascript:alert(1), nor <b>this</b> (http://example.org/x)!'
    const pieces = linked(text)
    expect(pieces.map((piece) => piece.text).join('')).toBe(text)
    expect(pieces.flatMap((piece) => piece.href ?? [])).toEqual(['https://example.com/a?b=1', 'http://example.org/x'])
  })
})

describe('the command line', () => {
  test.each([['plain', 'plain'], ['two words', "'two words'"], ["it's", `'it'\\''s'`], ['$(rm -rf)', "'$(rm -rf)'"], ['', "''"], ['a/b.json', 'a/b.json']])('%j is quoted as %s', (text, quoted) => expect(shellQuote(text)).toBe(quoted))

  test('names what the Run button would send', () => {
    const parts = { flow: 'my flow.json', input: "What's up?", session: 's1', user: 'anna', model: '', limits: ['spend=0.50'], me: 'local' }
    expect(command(parts)).toBe(`farthing run 'my flow.json' 'What'\\''s up?' --session s1 --user anna --limit spend=0.50`)
    expect(command({ ...parts, input: { city: 'Oslo', days: 3 }, session: '', user: 'local', limits: [] })).toBe(`farthing run 'my flow.json' --set city=Oslo --set days=3`)
  })
})

describe('words', () => {
  test.each([['max_output_tokens', 'Max output tokens'], ['BufferContext', 'Buffer context'], ['', '']])('%s reads %s', (name, text) => expect(words(name)).toBe(text))
  test.each([[999, '999 ms'], [1500, '1.50 s'], [12_345, '12.3 s'], [61_000, '1 min 1 s'], [3_720_000, '1 h 2 min'], [null, '']])('%s ms is %s', (ms, text) => expect(duration(ms)).toBe(text))
  test('a reset is said in UTC, and nothing where there is none', () => {
    expect(resets('2020-03-02T00:00:00Z')).toBe('resets 00:00 UTC Monday')
    expect(resets('2999-03-01T00:00:00Z')).toBe('resets 00:00 UTC 2999-03-01')
    expect([resets(null), resets('nonsense')]).toEqual(['', ''])
  })
  test.each([['My Flow!', 'my-flow.json'], ['支持', '支持.json'], ['///', 'flow.json']])('a flow called %j is saved as %s', (name, path) => expect(suggestedPath(name)).toBe(path))

  test.each([['My flow', 'Untitled flow', null, 'my-flow.json'], ['Shop', 'Shop', 'a/other.json', 'a/other.json'], ['Shop 2', 'Shop', 'a/other.json', 'a/shop-2.json'], ['', 'Shop', null, 'flow.json']])(
    'named %j, before %j at %j, it is saved as %s', (name, before, known, path) => expect(pathFor(name, before, known)).toBe(path))

  test.each([['daily', 'the budget daily'], ['budget', 'the budget'], ['budget_2', 'budget_2'], ['Daily budget', 'Daily budget']])('a budget called %j is %j in a sentence', (name, said) => expect(theBudget(name)).toBe(said))
})

describe('names and sentences', () => {
  test.each([['branches', 'branch'], ['tools', 'tool'], ['entries', 'entry'], ['boxes', 'box'], ['access', 'access'], ['blocks', 'block'], ['names', 'name']])('one of %s is a %s', (many, one) => expect(singular(many)).toBe(one))
  test.each([['01a22a66-b36b-7767-9bad-c17ea0864bf0', '01a22a66…4bf0'], ['anna', 'anna'], ['', '']])('a session called %j shows as %j', (name, shown) => expect(shortName(name)).toBe(shown))
  test.each([['give one', 'Give one.'], ['Done!', 'Done!'], ['', ''], [null, ''], ['完成。', '完成。']])('%j is said %j', (text, said) => expect(sentence(text)).toBe(said))
})

describe('sameJson', () => {
  test.each([[{ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }, true], [[1, 2], { 0: 1, 1: 2 }, false], [null, {}, false], [{ a: undefined }, {}, false], ['1', 1, false]])('%j and %j: %s', (a, b, same) => expect(sameJson(a, b)).toBe(same))
})

describe('addresses', () => {
  test.each([
    ['/', { page: 'flows' }], ['/flows/a/b%20c.json', { page: 'flow', path: 'a/b c.json' }], ['/examples/support', { page: 'example', name: 'support' }], ['/new', { page: 'new' }],
    ['/sessions?state=failed', { page: 'sessions' }], ['/sessions/u1?run=r2&seq=7', { page: 'session', uid: 'u1', run: 'r2', seq: 7 }], ['/runs/r1', { page: 'run', id: 'r1' }], ['/nowhere', { page: 'lost' }], ['/flows/%E0%A4%A', { page: 'flow', path: '%E0%A4%A' }],
  ])('%s', (address, route) => expect(routeOf(address)).toEqual(route))
})

describe('the palette', () => {
  const names = (text: string) => search(TYPES, text).map((type) => type.name)
  test('finds by name first, then by keyword and help', () => {
    expect(names('')).toHaveLength(TYPES.length)
    expect(names('s')[0]).toBe('shelf')
    expect(names('model')).toEqual(['thinker'])
    expect(names('money')).toEqual(['purse'])
    expect(names('zebra')).toEqual([])
  })
})

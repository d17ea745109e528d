import { describe, expect, test } from 'vitest'
import { SseParser, type Frame } from '../src/api/sse'
import { take, type StreamTarget } from '../src/api/stream'
import type { Delta, Event } from '../src/api/types'

const STREAM = 'retry: 1000\n\n: ping\n\nid: 1\ndata: {"seq":1}\n\nevent: delta\ndata: {"text":"a\\nb"}\n\nid: 2\r\ndata: {"seq":\r\ndata: 2}\r\n\r\nevent: end\ndata:\n\n'

function parse(pieces: string[]): Frame[] {
  const parser = new SseParser()
  return pieces.flatMap((piece) => parser.push(piece))
}

describe('the parser', () => {
  const whole = parse([STREAM])

  test('reads fields, joins data lines and leaves comments out', () => {
    expect(whole.map((frame) => [frame.event, frame.id, frame.data, frame.retry])).toEqual([
      ['message', null, '', 1000], ['message', '1', '{"seq":1}', null], ['delta', null, '{"text":"a\\nb"}', null], ['message', '2', '{"seq":\n2}', null], ['end', null, '', null],
    ])
  })

  test('gives the same frames wherever the stream is cut', () => {
    for (let cut = 0; cut <= STREAM.length; cut += 1) expect(parse([STREAM.slice(0, cut), STREAM.slice(cut)])).toEqual(whole)
    expect(parse([...STREAM])).toEqual(whole)
  })

  test('keeps an unfinished frame back', () => {
    expect(parse(['data: half\n'])).toEqual([])
  })
})

describe('resuming', () => {
  const heard = () => {
    const events: Event[] = []
    const deltas: Delta[] = []
    let resets = 0
    const target: StreamTarget = {
      session: 's', after: 0, onEvent: (e) => events.push(e), onDelta: (d) => deltas.push(d), onReset: () => { resets += 1 }, onConnection: () => undefined,
    }
    return { events, deltas, target, resets: () => resets }
  }
  const frame = (event: string, data: string): Frame => ({ event, data, id: null, retry: null })

  test('an event that comes again is not handed on again', () => {
    const { events, target } = heard()
    const place = { after: 1 }
    for (const seq of [1, 2, 2, 3]) take(frame('message', `{"seq":${seq}}`), target, place)
    expect(events.map((event) => event.seq)).toEqual([2, 3])
    expect(place.after).toBe(3)
  })

  test('a reset begins anew', () => {
    const { events, target, resets } = heard()
    const place = { after: 7 }
    take(frame('reset', '{}'), target, place)
    take(frame('message', '{"seq":5}'), target, place)
    expect([resets(), events[0]!.seq, place.after]).toEqual([1, 5, 5])
  })
})

// A session's live events: resumed after a break from the last sequence number seen, closed at `end`.
import { api, failure } from './client'
import { SseParser, type Frame } from './sse'
import type { Delta, Event } from './types'

export type Connection = 'connecting' | 'open' | 'reconnecting' | 'ended' | 'failed'

export interface StreamTarget {
  session: string
  /** Follow until this run ends; without it until no run of the session is active. */
  run?: string
  /** Everything up to this sequence number is known already. */
  after: number
  onEvent(event: Event): void
  onDelta(delta: Delta): void
  /** The server no longer has what follows `after`: forget everything and begin anew. */
  onReset(): void
  onConnection(state: Connection, why?: string): void
}

const LONGEST_WAIT_MS = 10_000
const CLOSE_AFTER_MS = 1000

/** Follow a session. Returns a function that stops. */
export function follow(target: StreamTarget): () => void {
  const stop = new AbortController()
  void loop(target, stop.signal)
  return () => stop.abort()
}

async function loop(target: StreamTarget, signal: AbortSignal): Promise<void> {
  const place = { after: target.after, retry: 1000 }
  let failures = 0
  target.onConnection('connecting')
  while (!signal.aborted) {
    try {
      const ended = await once(target, place, signal, () => {
        failures = 0
        target.onConnection('open')
      })
      if (ended) return target.onConnection('ended')
    } catch (error) {
      if (signal.aborted) return
      const status = (error as { status?: number }).status
      if (status !== undefined && status >= 400 && status < 500 && status !== 429) {
        return target.onConnection('failed', (error as Error).message)
      }
    }
    failures += 1
    if (signal.aborted) return
    target.onConnection('reconnecting')
    await pause(Math.min(place.retry * 2 ** (failures - 1), LONGEST_WAIT_MS), signal)
  }
}

async function once(
  target: StreamTarget,
  place: { after: number; retry: number },
  signal: AbortSignal,
  opened: () => void,
): Promise<boolean> {
  const response = await fetch(api.eventsUrl(target.session, place.after, target.run), {
    headers: { accept: 'text/event-stream' },
    credentials: 'same-origin',
    cache: 'no-store',
    signal,
  })
  if (response.status === 204) return true
  if (!response.ok || !response.body) throw await failure(response)
  opened()
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  const parser = new SseParser()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return false
    for (const frame of parser.push(decoder.decode(value, { stream: true }))) {
      if (frame.retry !== null) place.retry = frame.retry
      if (frame.event === 'end') {
        void drain(reader)
        return true
      }
      take(frame, target, place)
    }
  }
}

/** The server closes after `end`; one that does not is let go. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), CLOSE_AFTER_MS)
  try {
    while (!(await reader.read()).done);
  } catch {
    // It broke after everything had come.
  }
  clearTimeout(timer)
}

/** Hand a frame on; an event that was seen before a break is not handed on twice. */
export function take(frame: Frame, target: StreamTarget, place: { after: number }): void {
  if (frame.event === 'reset') {
    place.after = 0
    target.onReset()
  } else if (frame.event === 'delta') {
    target.onDelta(JSON.parse(frame.data) as Delta)
  } else if (frame.event === 'message' && frame.data) {
    const event = JSON.parse(frame.data) as Event
    if (event.seq <= place.after) return
    place.after = event.seq
    target.onEvent(event)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => { clearTimeout(timer); resolve() }, { once: true })
  })
}

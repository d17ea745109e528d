// Server-sent events as bytes come: a parser that keeps what is unfinished until the next chunk.

export interface Frame {
  event: string
  data: string
  id: string | null
  retry: number | null
}

export class SseParser {
  private rest = ''
  private data: string[] = []
  private event = ''
  private id: string | null = null
  private retry: number | null = null

  /** The frames that this piece of text completes. Lines end with LF, CR LF or CR. */
  push(text: string): Frame[] {
    const frames: Frame[] = []
    this.rest += text
    for (;;) {
      const end = this.rest.search(/[\r\n]/)
      // A CR at the very end may be the first half of CR LF: wait for the next piece.
      if (end < 0 || (this.rest[end] === '\r' && end === this.rest.length - 1)) break
      const line = this.rest.slice(0, end)
      this.rest = this.rest.slice(end + (this.rest.startsWith('\r\n', end) ? 2 : 1))
      const frame = this.line(line)
      if (frame) frames.push(frame)
    }
    return frames
  }

  private line(line: string): Frame | null {
    if (line === '') return this.dispatch()
    if (line.startsWith(':')) return null
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') this.data.push(value)
    else if (field === 'event') this.event = value
    else if (field === 'id') this.id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value)
    return null
  }

  private dispatch(): Frame | null {
    const empty = this.data.length === 0 && this.event === '' && this.retry === null
    const frame = { event: this.event || 'message', data: this.data.join('\n'), id: this.id, retry: this.retry }
    this.data = []
    this.event = ''
    this.id = null
    this.retry = null
    return empty ? null : frame
  }
}

// Every event as it was committed, newest at the end.
import { useState } from 'react'
import type { Event } from '../api/types'
import { Virtual } from '../app/Virtual'
import { clip } from '../lib/text'
import { clock } from '../lib/time'
import { useRun } from '../state/run'

export function Events() {
  const events = useRun((s) => s.events)
  const live = useRun((s) => s.status === 'running')
  return <EventList events={events} live={live} />
}

const HEIGHT = 24
const OPEN = 220
const PLACE = new Set(['session_uid', 'seq', 'type', 'at', 'run_id', 'node_id', 'v'])

export function EventList({ events, live }: { events: readonly Event[]; live: boolean }) {
  const [text, setText] = useState('')
  const [open, setOpen] = useState<number | null>(null)
  const wanted = text.trim().toLowerCase()
  const found = wanted ? events.filter((event) => JSON.stringify(event).toLowerCase().includes(wanted)) : events
  if (!events.length) return <p className="pad muted">No events yet. They appear as a run goes on.</p>
  return (
    <div className="events">
      <div className="bar"><input type="search" value={text} placeholder="Find in events" aria-label="Find in events" onChange={(e) => setText(e.target.value)} /><span className="muted">{found.length === events.length ? events.length : `${found.length} of ${events.length}`}</span></div>
      <Virtual count={found.length} version={`${found.length}|${open}|${wanted}`} height={(i) => (found[i]!.seq === open ? OPEN : HEIGHT)} label="Events" follow={live && open === null}
        draw={(i) => <EventLine key={found[i]!.seq} event={found[i]!} open={found[i]!.seq === open} toggle={() => setOpen(found[i]!.seq === open ? null : found[i]!.seq)} />} />
    </div>
  )
}

function EventLine({ event, open, toggle }: { event: Event; open: boolean; toggle(): void }) {
  const rest = Object.fromEntries(Object.entries(event).filter(([name, value]) => !PLACE.has(name) && value !== null))
  return (
    <div role="listitem" className="event-line" style={{ height: open ? OPEN : HEIGHT }}>
      <button type="button" aria-expanded={open} onClick={toggle}>
        <span className="num">{event.seq}</span><span className="mono">{clock(event.at)}</span><strong>{event.type}</strong><span>{event.node_id}</span><span className="mono faint">{clip(JSON.stringify(rest), 240)}</span>
      </button>
      {open && <pre tabIndex={0} dir="auto">{JSON.stringify(event, null, 2)}</pre>}
    </div>
  )
}

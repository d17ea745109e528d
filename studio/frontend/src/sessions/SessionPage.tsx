// One session: its timeline, the flow as it was at a run, and its events.
import { useEffect, useMemo, useState } from 'react'
import { api } from '../api/client'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { Link } from '../app/Link'
import { go, to } from '../app/router'
import { useLoad } from '../app/useLoad'
import { FlowView } from '../canvas/FlowView'
import { ConnectionState } from '../drawer/Drawer'
import { EventList } from '../drawer/Events'
import { count, dollars, nanosOf } from '../lib/money'
import { clip, shortJson, shortName } from '../lib/text'
import { ago, instant } from '../lib/time'
import { useCatalog } from '../state/catalog'
import { type NodeLive, useRun } from '../state/run'
import { withUnreached } from '../state/unreached'
import { type Row, tokensOf } from '../timeline/row'
import { TimelineView } from '../timeline/TimelineView'

export function RunRedirect({ id }: { id: string }) {
  const run = useLoad(() => api.run(id), id)
  useEffect(() => {
    const step = new URLSearchParams(location.search).get('step')
    if (run.data) go(`${to.session(run.data.session_uid, id)}${step ? `&step=${encodeURIComponent(step)}` : ''}`, true)
  }, [run.data, id])
  return <main className="page">{run.error !== null ? <Failure error={run.error} retry={run.reload} /> : <p className="muted">Looking for the run…</p>}</main>
}

type Part = 'timeline' | 'events'

export function SessionPage({ uid, run, seq }: { uid: string; run: string | null; seq: number | null }) {
  const session = useLoad(() => api.session(uid), uid)
  const timeline = useRun((s) => s.timeline)
  const version = useRun((s) => s.version)
  const events = useRun((s) => s.events)
  const connection = useRun((s) => s.connection)
  // A finished session streams in as well, and is read from its beginning.
  const running = useRun((s) => s.status === 'running')
  const attached = useRun((s) => s.session === uid)
  const [selected, setSelected] = useState<number | null>(seq)
  const [part, setPart] = useState<Part>('timeline')
  const [withFlow, setWithFlow] = useState(false)
  const name = session.data?.name ?? ''

  useEffect(() => {
    void useRun.getState().attach(uid)
    return () => useRun.getState().leave()
  }, [uid])
  useEffect(() => {
    if (connection === 'ended') session.reload()
  }, [connection, session.reload])

  // A link to a step of a run selects it, once it has been read.
  const [wanted, setWanted] = useState(() => new URLSearchParams(location.search).get('step'))
  useEffect(() => {
    if (wanted === null || !attached) return
    const found = timeline.rows().find((each) => each.run === run && each.kind === 'call' && String(each.step) === wanted)
    if (!found) return
    setSelected(found.seq)
    setWanted(null)
  }, [wanted, attached, timeline, version, run])

  const row = useMemo(() => (selected === null ? null : timeline.rows().find((each) => each.seq === selected) ?? null), [selected, timeline, version])
  const shownRun = row?.run ?? run ?? timeline.top.findLast((each) => each.kind === 'run')?.run ?? null
  const data = session.data
  if (session.error !== null && !data) return <main className="page"><Failure error={session.error} retry={session.reload} /></main>
  const choose = (each: Row | null) => setSelected(each?.seq ?? null)
  return (
    <main className="session-page">
      <header className="topbar">
        <Link href="/sessions" className="icon-button" aria-label="All sessions" title="All sessions"><Icon name="left" /></Link>
        <div className="title"><h1 dir="auto" title={name}>{shortName(name) || '…'}</h1><span className="saved-state">{data ? `${data.flow_name || data.flow_id} · ${data.user_id ?? 'nobody'} · ${ago(data.last_at)}` : ''}</span></div>
        {data?.partition === 'rehearsal' && <span className="tag rehearsal">rehearsal</span>}
        {data && <span className={`state ${data.state}`}>{data.state}</span>}
        <span className="grow" />
        <ConnectionState />
        <CancelRuns runs={timeline.top.filter((each) => each.kind === 'run' && each.state === 'running').flatMap((each) => each.run ?? [])} />
        {data && (
          <dl className="totals">
            <div><dt>Runs</dt><dd>{count(data.run_count)}</dd></div>
            <div><dt>Tokens</dt><dd>{count(tokensOf(data.usage))}</dd></div>
            <div><dt>Cost</dt><dd>{data.unknown_cost && data.cost !== null ? 'at least ' : ''}{dollars(nanosOf(data.cost))}</dd></div>
          </dl>
        )}
        <button type="button" aria-pressed={withFlow} onClick={() => setWithFlow(!withFlow)} disabled={!shownRun}><Icon name="flows" /> Flow</button>
        {(['html', 'json'] as const).map((form) => (
          <a key={form} className="button" href={api.exportUrl(uid, form, run)} download title={form === 'html' ? 'The timeline as one page that has everything in it' : 'All events, as they are stored'}><Icon name="download" /> {form.toUpperCase()}</a>
        ))}
      </header>
      <div className="tabs">
        <div role="group" aria-label="View" className="segments">
          <button type="button" aria-pressed={part === 'timeline'} onClick={() => setPart('timeline')}>Timeline</button>
          <button type="button" aria-pressed={part === 'events'} onClick={() => setPart('events')}>Events <span className="badge">{count(events.length)}</span></button>
        </div>
        <RunPicker uid={uid} run={run} timeline={timeline.top} />
      </div>
      {withFlow && shownRun && <FlowAtRun run={shownRun} timeline={timeline.rows()} version={version} selected={row?.node ?? null}
        onSelect={(id) => choose(id ? timeline.rows().findLast((each) => each.run === shownRun && each.node === id) ?? null : null)} />}
      <div className="session-body">
        {part === 'events' ? <EventList events={run ? events.filter((event) => event.run_id === run) : events} live={running} />
          : attached && timeline.top.length ? <TimelineView timeline={timeline} version={version} live={running} selected={selected} node={row?.node ?? null} run={run} onSelect={choose} />
            : <p className="pad muted">{connection === 'ended' ? 'This session has no events.' : 'Reading the timeline…'}</p>}
      </div>
    </main>
  )
}

/** Ends the runs that are on, whichever process has them; the timeline tells when they have ended. */
function CancelRuns({ runs }: { runs: readonly string[] }) {
  const [asked, setAsked] = useState<readonly string[]>([])
  const [error, setError] = useState<Error | null>(null)
  if (!runs.length) return null
  const all = runs.every((run) => asked.includes(run))
  const cancel = () => {
    setError(null)
    setAsked(runs)
    Promise.all(runs.map((run) => api.cancelRun(run))).catch((failed: Error) => { setError(failed); setAsked([]) })
  }
  return (
    <>
      {error !== null && <span className="state failed" role="alert">{error.message}</span>}
      <button type="button" className="run cancel" disabled={all} onClick={cancel}><Icon name="stop" />{all ? 'Cancelling…' : 'Cancel'}</button>
    </>
  )
}

function RunPicker({ uid, run, timeline }: { uid: string; run: string | null; timeline: readonly Row[] }) {
  const runs = timeline.filter((each) => each.kind === 'run' && each.run)
  if (runs.length < 2) return null
  const label = (row: Row, i: number) => {
    const input = row.events.find((event) => event.type === 'run.started')?.input
    return `${i + 1} · ${instant(new Date(row.at).toISOString())} · ${row.state} · ${clip(shortJson(input), 50)}`
  }
  return (
    <label className="run-picker"><span>Run</span>
      <select value={run ?? ''} onChange={(e) => go(to.session(uid, e.target.value || null), true)}>
        <option value="">all {runs.length}</option>
        {runs.map((each, i) => <option key={each.run} value={each.run!}>{label(each, i)}</option>)}
      </select>
    </label>
  )
}

interface AtRunProps {
  run: string
  timeline: readonly Row[]
  version: number
  selected: string | null
  onSelect(id: string | null): void
}

const SHOWN: Record<string, NodeLive['state']> = { done: 'done', failed: 'failed', stopped: 'stopped', skipped: 'skipped', cancelled: 'cancelled', interrupted: 'interrupted', running: 'running' }

function FlowAtRun({ run, timeline, version, selected, onSelect }: AtRunProps) {
  const flow = useLoad(() => api.runFlow(run), run)
  const types = useCatalog((s) => s.types)
  const lives = useMemo(() => {
    const found: Record<string, NodeLive> = {}
    for (const row of timeline) {
      if (row.kind !== 'node' || row.run !== run || !row.node) continue
      found[row.node] = {
        state: SHOWN[row.state] ?? 'done', startedAt: row.at, ms: row.ms, usage: row.usage, cost: row.cost, unknown: row.unknown,
        error: row.code ? { code: row.code, message: row.text || row.code, remedy: row.remedy } : null, call: null, text: '', tool: null, warning: false,
      }
    }
    const ended = timeline.find((row) => row.kind === 'run' && row.run === run)?.state ?? 'running'
    if (ended === 'running' || !flow.data) return found
    return withUnreached(found, flow.data.nodes.filter((node) => types[node.type]?.attachment === false).map((node) => node.id), ended)
  }, [timeline, version, run, flow.data, types])
  if (flow.error !== null) return <Failure error={flow.error} retry={flow.reload} />
  if (!flow.data) return <div className="seen-box"><p className="pad muted">Reading the flow…</p></div>
  return <div className="seen-box"><FlowView flow={flow.data} nodes={lives} selected={selected} onSelect={onSelect} /></div>
}


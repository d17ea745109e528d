// Every session, newest first, with filters. Pages are asked for one after the other, so that 100,000 are no burden.
import { useEffect, useState } from 'react'
import { api, query } from '../api/client'
import type { SessionInfo } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { Link } from '../app/Link'
import { go, to, useAddress } from '../app/router'
import { useLater, useLoad } from '../app/useLoad'
import { count, fixedDollars, nanosOf, short } from '../lib/money'
import { shortName } from '../lib/text'
import { ago, instant } from '../lib/time'
import { useUi } from '../state/ui'
import { tokensOf } from '../timeline/row'

const STATES = ['running', 'paused', 'completed', 'failed', 'cancelled', 'interrupted']
const PAGE = 50

interface Filter {
  text: string
  flow: string
  user: string
  state: string
  min_cost: string
  since: string
  until: string
}

/** Days as a person picks them; the API wants instants. */
const instants = ({ since, until, ...rest }: Filter) => ({
  ...rest, since: since ? `${since}T00:00:00Z` : '', until: until ? `${until}T23:59:59.999999Z` : '',
})

const EMPTY: Filter = { text: '', flow: '', user: '', state: '', min_cost: '', since: '', until: '' }

export function SessionsPage() {
  const address = useAddress()
  const [filter, setFilter] = useState<Filter>(() => ({ ...EMPTY, ...Object.fromEntries([...new URLSearchParams(address.split('?')[1] ?? '')].filter(([name]) => name in EMPTY)) }))
  const rehearsals = useUi((s) => s.rehearsals)
  const set = useUi((s) => s.set)
  const asked = useLater(JSON.stringify(filter), 250)
  const late = JSON.parse(asked) as Filter
  const question = `${asked}|${rehearsals}`
  const first = useLoad(() => api.sessions({ ...instants(late), limit: PAGE, rehearsal: rehearsals || undefined }), question)
  const [more, setMore] = useState<{ of: string; sessions: SessionInfo[]; next: string | null }>({ of: '', sessions: [], next: null })
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    if (first.data) setMore({ of: question, sessions: [], next: first.data.next })
  }, [first.data]) // the answer belongs to the question that was asked with it
  const sessions = [...(first.data?.sessions ?? []), ...more.sessions]
  const change = (values: Partial<Filter>) => {
    const next = { ...filter, ...values }
    setFilter(next)
    go(`/sessions${query({ ...next })}`, true)
  }
  const loadMore = () => {
    if (!more.next) return
    api.sessions({ ...instants(late), limit: PAGE, before: more.next, rehearsal: rehearsals || undefined })
      .then((page) => setMore((m) => ({ of: m.of, sessions: [...m.sessions, ...page.sessions], next: page.next })), setError)
  }
  const hidden = first.data?.hidden_rehearsals ?? 0
  return (
    <main className="page wide">
      <header className="page-head"><h1>Sessions</h1></header>
      <div className="filters" role="search">
        <div className="search-box"><Icon name="search" /><input type="search" value={filter.text} placeholder="Session, flow or id" aria-label="Find in sessions" onChange={(e) => change({ text: e.target.value })} /></div>
        <label><span>Flow</span><input value={filter.flow} onChange={(e) => change({ flow: e.target.value })} placeholder="name or id" /></label>
        <label><span>User</span><input value={filter.user} onChange={(e) => change({ user: e.target.value })} placeholder="any" /></label>
        <label><span>State</span><select value={filter.state} onChange={(e) => change({ state: e.target.value })}><option value="">any</option>{STATES.map((s) => <option key={s}>{s}</option>)}</select></label>
        <label><span>Cost from, $</span><input className="num" inputMode="decimal" value={filter.min_cost} onChange={(e) => change({ min_cost: e.target.value })} placeholder="0" /></label>
        <label><span>Since</span><input type="date" value={filter.since} onChange={(e) => change({ since: e.target.value })} /></label>
        <label><span>Until</span><input type="date" value={filter.until} onChange={(e) => change({ until: e.target.value })} /></label>
        <label className="check"><input type="checkbox" checked={rehearsals} onChange={(e) => set({ rehearsals: e.target.checked })} /><span>Rehearsals</span></label>
        {JSON.stringify(filter) !== JSON.stringify(EMPTY) && <button type="button" onClick={() => change(EMPTY)}>Clear</button>}
      </div>
      {(first.error ?? error) !== null && <Failure error={first.error ?? error} retry={first.reload} />}
      {sessions.length > 0 && <Table sessions={sessions} />}
      {first.data && !sessions.length && (
        <div className="empty-state">
          <h2>No session {JSON.stringify(filter) === JSON.stringify(EMPTY) ? 'yet' : 'matches'}</h2>
          {hidden > 0 ? <><p>{hiddenWords(hidden)}</p><button type="button" className="primary" onClick={() => set({ rehearsals: true })}>Show rehearsals</button></>
            : <><p>A session begins with the first run of a flow.</p><Link href="/" className="button primary">Open a flow</Link></>}
        </div>
      )}
      <footer className="page-foot">
        {more.next && <button type="button" onClick={loadMore}>Show more</button>}
        {hidden > 0 && sessions.length > 0 && !rehearsals && <span className="muted">{hiddenWords(hidden)} <button type="button" className="plain-button" onClick={() => set({ rehearsals: true })}>Show them</button></span>}
      </footer>
    </main>
  )
}

function Table({ sessions }: { sessions: SessionInfo[] }) {
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Sessions">
      <table className="table sessions-table">
        <thead><tr><th>Session</th><th>Flow</th><th>User</th><th>State</th><th className="num">Runs</th><th className="num">Tokens</th><th className="num">Cost</th><th>Last</th></tr></thead>
        <tbody>
          {sessions.map((each) => (
            <tr key={each.uid}>
              <td><Link href={to.session(each.uid)} dir="auto" title={each.name}>{shortName(each.name)}</Link>{each.partition === 'rehearsal' && <span className="tag rehearsal">rehearsal</span>}</td>
              <td dir="auto">{each.flow_name || each.flow_id}</td>
              <td dir="auto">{each.user_id ?? <span className="muted">nobody</span>}</td>
              <td><span className={`state ${each.state}`}>{each.state}</span></td>
              <td className="num">{count(each.runs)}</td>
              <td className="num">{each.usage ? short(tokensOf(each.usage)) : ''}</td>
              <td className={each.cost === null ? 'num unknown' : 'num'}>{each.unknown_cost && each.cost !== null ? '≥ ' : ''}{fixedDollars(nanosOf(each.cost))}</td>
              <td title={`${instant(each.last_at)} UTC`}>{ago(each.last_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function hiddenWords(hidden: number): string {
  return hidden === 1 ? '1 rehearsal is hidden.' : `${count(hidden)} rehearsals are hidden.`
}

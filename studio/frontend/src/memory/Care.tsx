// Consolidation of a user's facts: what would change, doing it with its progress, and taking it back.
import { useEffect, useState } from 'react'
import { api } from '../api/client'
import type { Obj } from '../api/types'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { useLoad } from '../app/useLoad'
import { plural, shortJson, words } from '../lib/text'
import { ago } from '../lib/time'
import { changeOf } from './change'

const POLL_MS = 400

export function Care({ user, rehearsal, operator, onChanged }: { user: string; rehearsal: boolean; operator: boolean; onChanged(): void }) {
  const [error, setError] = useState<unknown>(null)
  const [sure, setSure] = useState(false)
  const [undone, setUndone] = useState<{ keys: string[]; left: string[] } | null>(null)
  const plan = useLoad(() => api.consolidation(user, rehearsal), `${user}|${rehearsal}`)
  const last = plan.data?.last ?? null
  const running = last?.state === 'running'
  const { reload } = plan
  useEffect(() => {
    if (!running) return onChanged()
    const timer = setInterval(reload, POLL_MS)
    return () => clearInterval(timer)
  }, [running, reload])
  const changes = (plan.data?.shelves ?? []).reduce((sum, each) => sum + each.changes.length + each.more, 0)
  const act = (work: Promise<unknown>) => work.then(() => { setError(null); reload() }, setError)
  return (
    <div className="care">
      <p>Facts whose time is over, and derived facts that say what another says, are retired. Nothing is deleted: each change can be taken back.</p>
      {plan.error !== null && <Failure error={plan.error} retry={reload} />}
      {error !== null && <Failure error={error} />}
      {running && <p role="status"><progress value={last.done} max={Math.max(1, last.of)} aria-label="Consolidation" /> {last.done} of {last.of} parts</p>}
      {last?.state === 'failed' && <p className="wrongs warn">The last one ended early: {last.error} {last.remedy}</p>}
      {last?.state === 'done' && <p className="good" role="status"><Icon name="check" /> Consolidated {ago(last.at)}.</p>}
      {undone && <p role="status">{plural(undone.keys.length, 'fact')} {undone.keys.length === 1 ? 'is' : 'are'} current again{undone.left.length ? `; written since, and left as they are: ${undone.left.join(', ')}` : ''}.</p>}
      {plan.data && !running && !plan.data.shelves.length && <p className="muted">There is nothing to consolidate.</p>}
      {plan.data?.shelves.map(({ shelf, changes: each, conflicts, more }) => (
        <section key={`${shelf.namespace}\n${shelf.scope}\n${shelf.owner}`}>
          <h3 dir="auto">{shelf.namespace} · {shelf.scope} {shelf.owner}</h3>
          <ul className="changes">
            {each.map((change, i) => <Change key={i} change={change} />)}
            {more > 0 && <li className="muted">and {more} more</li>}
            {conflicts.map((key) => <li key={key}><span className="tag warn"><Icon name="warning" />conflict</span><code dir="auto">{key}</code><span>is left for a person to settle, under Facts.</span></li>)}
          </ul>
        </section>
      ))}
      <div className="facts-bar">
        {operator && <button type="button" className="primary" disabled={!changes || running} onClick={() => setSure(true)}>Consolidate…</button>}
        <button type="button" disabled={running} onClick={() => { setUndone(null); void act(api.undoConsolidation(user, rehearsal).then((told) => { setUndone(told); onChanged() })) }}>Undo the last one</button>
        {!operator && <span className="muted">An operator carries it out, since the whole database is copied first.</span>}
      </div>
      {sure && (
        <Dialog title={`Consolidate ${user}’s memory?`} onClose={() => setSure(false)}>
          <p>{plural(changes, 'change')} as shown. The database is copied first; no run of this user may be active.</p>
          <footer><button type="button" data-first onClick={() => setSure(false)}>Not now</button><button type="button" className="primary" onClick={() => { setSure(false); setUndone(null); void act(api.consolidate(user, rehearsal)) }}>Consolidate</button></footer>
        </Dialog>
      )}
    </div>
  )
}

/** Whatever a change says of itself, in its own words. */
function Change({ change }: { change: Obj }) {
  const { key, action, why, rest } = changeOf(change)
  return (
    <li>
      <span className="tag">{words(action)}</span><code dir="auto">{key}</code><span>{why}</span>
      {rest.map(([name, value]) => <span key={name} className="muted">{words(name)}: {shortJson(value)}</span>)}
    </li>
  )
}

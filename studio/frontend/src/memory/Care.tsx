// Consolidation of a user's facts: a model's judgement where it is wished for, what would change, doing what is chosen, and taking it back.
import { useEffect, useState } from 'react'
import { api } from '../api/client'
import type { CareProgress, Change, Consolidation } from '../api/types'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { useLoad } from '../app/useLoad'
import { count } from '../lib/money'
import { plural } from '../lib/text'
import { ago } from '../lib/time'
import { Changes } from './Changes'
import { Judge } from './Judge'
import { changesOf, idsOf, spentText, undoneText } from './care'

const POLL_MS = 400

interface Props {
  user: string
  rehearsal: boolean
  operator: boolean
  onChanged(): void
}

export function Care({ user, rehearsal, operator, onChanged }: Props) {
  const [error, setError] = useState<unknown>(null)
  const [leave, setLeave] = useState<ReadonlySet<string>>(new Set())
  const [gone, setGone] = useState<readonly Change[]>([])
  const [told, setTold] = useState<string | null>(null)
  const whose = `${user}|${rehearsal}`
  const plan = useLoad(() => api.consolidation(user, rehearsal), whose)
  const [other, setOther] = useState('')
  const asking = useLoad(() => api.judging(user, rehearsal, other), `${whose}|${other}`)
  const ended = () => { plan.reload(); asking.reload(); onChanged() }
  const [last, setLast] = useProgress(user, rehearsal, plan.data, ended)
  const running = last?.state === 'running'
  const act = (work: Promise<unknown>) => work.then(() => setError(null), setError)
  const begin = (work: Promise<unknown>) => act(work.then(() => api.careProgress(user, rehearsal)).then((now) => {
    setTold(null)
    setLast(now)
    if (now?.state !== 'running') ended() // it was over before it was first asked for
  }))
  const consolidate = (data: Consolidation, left: string[]) => { setGone(changesOf(data)); begin(api.consolidate(user, rehearsal, data.plan, left)) }
  const undo = () => act(api.undoConsolidation(user, rehearsal).then((done) => { setTold(undoneText(done)); setLast(null); plan.reload(); onChanged() }))
  // After a plan that had moved on: what is no longer in it.
  const now = new Set(idsOf(plan.data))
  const dropped = last?.what === 'changes' && last.state === 'failed' ? gone.filter((each) => !now.has(each.id)) : []
  return (
    <div className="care">
      <p>Facts whose time is over, and derived facts that say what another says, are retired. Nothing is deleted: each change can be taken back.</p>
      {error !== null && <Failure error={error} />}
      {running && last.what === 'changes' && <p role="status"><progress value={last.done} max={Math.max(1, last.of)} aria-label="Consolidation" /> {last.done} of {plural(last.of, 'part')}</p>}
      {last && !running && <Ended last={last} dropped={dropped} />}
      {told && <p className="good" role="status"><Icon name="undo" /> {told}</p>}
      <Judge user={user} rehearsal={rehearsal} operator={operator} asking={asking} running={running && last.what === 'judging' ? last : null} busy={running}
        other={other} onOther={setOther} onBegin={(model, limits) => begin(api.judge(user, rehearsal, model, limits))} onCancel={() => act(api.cancelJudging(user, rehearsal))} />
      {plan.error !== null && <Failure error={plan.error} retry={plan.reload} />}
      {plan.data && <Previewed data={plan.data} />}
      {plan.data && !running && !plan.data.shelves.length && <p className="muted">There is nothing to consolidate.</p>}
      {plan.data?.shelves.map((each) => <Changes key={`${each.shelf.namespace}\n${each.shelf.scope}\n${each.shelf.owner}`} user={user} rehearsal={rehearsal} whole={plan.data!.plan} plan={each} leave={leave} fixed={!operator || running} onLeave={setLeave} />)}
      {plan.data && <Bar user={user} data={plan.data} leave={leave} running={running} operator={operator} onConsolidate={consolidate} onUndo={undo} />}
    </div>
  )
}

/** How far the last one is, asked for again and again while it runs; `onEnded` is told once it has ended. */
function useProgress(user: string, rehearsal: boolean, data: Consolidation | null, onEnded: () => void): [CareProgress | null, (last: CareProgress | null) => void] {
  const [last, setLast] = useState<CareProgress | null>(null)
  const running = last?.state === 'running'
  useEffect(() => { if (data?.last) setLast(data.last) }, [data?.last?.batch])
  useEffect(() => {
    if (!running) return
    let current = true
    const timer = setInterval(() => {
      api.careProgress(user, rehearsal).then((now) => {
        if (!current) return
        setLast(now)
        if (now?.state !== 'running') onEnded()
      }, () => undefined) // asked for again at the next tick
    }, POLL_MS)
    return () => { current = false; clearInterval(timer) }
  }, [running, user, rehearsal])
  return [last, setLast]
}

/** How the last one ended: what it did or found, what it used, and what was left alone. */
function Ended({ last, dropped }: { last: CareProgress; dropped: readonly Change[] }) {
  const used = last.what === 'judging' && last.tokens > 0 ? ` It used ${spentText(last)}.` : ''
  if (last.state === 'failed') {
    return (
      <div className="wrongs warn" role="status">
        <p>The last one ended early: {last.error} {last.remedy}{used}</p>
        {dropped.length > 0 && <p>No longer proposed: {dropped.map((each) => each.key).join(', ')}.</p>}
      </div>
    )
  }
  if (last.state === 'cancelled') return <p role="status">Cancelled after {last.done} of {plural(last.of, 'pair')}; what was answered is kept.{used}</p>
  if (last.what === 'judging') return <p className="good" role="status"><Icon name="check" /> Judged {plural(last.done, 'pair')} {ago(last.at)}.{used}</p>
  return (
    <p className="good" role="status"><Icon name="check" /> Consolidated {ago(last.at)}: {plural(last.made, 'change')}.
      {last.skipped.length > 0 && ` Left alone, since they or what they rest on were written meanwhile: ${last.skipped.join(', ')}.`}</p>
  )
}

/** That a preview is stored, and what of it was overtaken. */
function Previewed({ data }: { data: Consolidation }) {
  if (!data.previewed) return null
  const { stale } = data
  const judged = changesOf(data).some((each) => each.judged_in !== null)
  return (
    <div className="previewed">
      <p className="muted">Previewed {ago(data.previewed)} and not carried out.{judged && ' What the model said is kept and not paid again.'}</p>
      {stale.length > 0 && <p className="wrongs warn"><Icon name="warning" /> {plural(stale.length, 'change')} of that preview no longer {stale.length === 1 ? 'applies' : 'apply'}, since what {stale.length === 1 ? 'it rests' : 'they rest'} on was written since: {stale.slice(0, 20).map((each) => (each.by ? `${each.key} and ${each.by}` : each.key)).join(', ')}{stale.length > 20 ? ', …' : ''}.</p>}
    </div>
  )
}

interface BarProps {
  user: string
  data: Consolidation
  leave: ReadonlySet<string>
  running: boolean
  operator: boolean
  onConsolidate(data: Consolidation, leave: string[]): void
  onUndo(): void
}

function Bar({ user, data, leave, running, operator, onConsolidate, onUndo }: BarProps) {
  const [sure, setSure] = useState(false)
  const ids = idsOf(data)
  const left = ids.filter((id) => leave.has(id))
  const all = ids.length
  const chosen = all - left.length
  return (
    <div className="facts-bar care-bar">
      {operator && <button type="button" className="primary" disabled={!chosen || running} onClick={() => setSure(true)}>{left.length ? `Consolidate ${count(chosen)} of ${count(all)}…` : 'Consolidate…'}</button>}
      <button type="button" disabled={running || !data.undoable} onClick={onUndo}>Undo the last one</button>
      {!operator && <span className="muted">An operator carries it out, since the whole database is copied first.</span>}
      {sure && (
        <Dialog title={`Consolidate ${user}’s memory?`} onClose={() => setSure(false)}>
          <p>{plural(chosen, 'change')} as shown{left.length ? `; ${plural(left.length, 'other')} left out` : ''}. The database is copied first; no run of this user may be active.</p>
          <footer><button type="button" data-first onClick={() => setSure(false)}>Not now</button><button type="button" className="primary" onClick={() => { setSure(false); onConsolidate(data, left) }}>Consolidate</button></footer>
        </Dialog>
      )}
    </div>
  )
}

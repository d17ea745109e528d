// What a consolidation would change on one shelf, page by page, each change of which may be left out; and what waits for a person.
import { useEffect, useRef, useState } from 'react'
import { api } from '../api/client'
import type { Change, Fact, ShelfPlan } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { Link, PlainText } from '../app/Link'
import { to } from '../app/router'
import { useLater, useLoad } from '../app/useLoad'
import { count } from '../lib/money'
import { plural, sentence, shortJson } from '../lib/text'
import { ago } from '../lib/time'
import { Whence } from './Whence'
import { actionText, choose } from './care'

const PAGE = 50

interface Props {
  user: string
  rehearsal: boolean
  /** The id of the plan of all shelves. */
  whole: string
  plan: ShelfPlan
  /** Ids of changes that are left out. */
  leave: ReadonlySet<string>
  /** Nothing can be chosen. */
  fixed: boolean
  onLeave(leave: ReadonlySet<string>): void
}

export function Changes({ user, rehearsal, whole, plan, leave, fixed, onLeave }: Props) {
  const { shelf, conflicts, marks, ids } = plan
  const [text, setText] = useState('')
  const [from, setFrom] = useState(0)
  const head = useRef<HTMLDivElement>(null)
  const find = useLater(text.trim(), 250)
  const sent = !find && from + PAGE <= Math.max(plan.changes.length, Math.min(ids.length, PAGE))
  const page = useLoad(
    () => (sent ? Promise.resolve({ changes: plan.changes.slice(from, from + PAGE), ids }) : api.changes(user, rehearsal, shelf, whole, find, from, PAGE)),
    `${whole}|${find}|${from}`,
  )
  const found = find ? page.data?.ids ?? [] : ids
  useEffect(() => { if (from && from >= found.length && !page.loading) setFrom(0) }, [from, found.length, page.loading])
  const changes = page.data?.changes ?? plan.changes.slice(0, PAGE)
  const chosen = ids.filter((id) => !leave.has(id)).length
  const none = !found.some((id) => !leave.has(id))
  const name = `${shelf.namespace} · ${shelf.scope} ${shelf.owner}`
  const more = plan.waiting - conflicts.length - marks.length
  return (
    <section aria-label={name}>
      <div className="changes-head" ref={head}>
        <h3 dir="auto">{name}</h3>
        <span className="grow" />
        {ids.length > 0 && <span className="muted num">{count(chosen)} of {plural(ids.length, 'change')} chosen</span>}
        {!fixed && found.length > 1 && <button type="button" className="plain-button" onClick={() => onLeave(choose(leave, found, none))}>{none ? 'Choose' : 'Leave out'} {find ? `the ${count(found.length)} found` : 'all'}</button>}
      </div>
      {(ids.length > PAGE || text) && (
        <div className="changes-find">
          <div className="search-box"><Icon name="search" /><input type="search" value={text} placeholder="Key, value or reason" aria-label="Find in changes" onChange={(e) => { setText(e.target.value); setFrom(0) }} /></div>
          <span className="grow" />
          <Pages from={from} of={found.length} label={`Pages of changes, ${name}`} onGo={setFrom} />
        </div>
      )}
      {page.error !== null && <Failure error={page.error} retry={page.reload} />}
      {find && !page.loading && !found.length && <p className="muted">No change tells of “{find}”.</p>}
      <ul className="changes" aria-busy={page.loading}>
        {changes.map((each) => <Line key={each.id} change={each} chosen={!leave.has(each.id)} fixed={fixed} onChoose={(on) => onLeave(choose(leave, [each.id], on))} />)}
      </ul>
      {found.length > PAGE && <div className="changes-find"><span className="grow" /><Pages from={from} of={found.length} label={`Pages of changes, ${name}, below`} onGo={(next) => { setFrom(next); head.current?.scrollIntoView({ block: 'start' }) }} /></div>}
      {conflicts.length + marks.length > 0 && (
        <ul className="waits">
          {conflicts.map((key) => <li key={key}><span className="tag warn"><Icon name="warning" />conflict</span><span><code dir="auto">{key}</code> is left for a person to settle, under Facts.</span></li>)}
          {marks.map((mark) => <li key={`${mark.key}\n${mark.other}`}><span className="tag warn"><Icon name="warning" />marked</span><span><code dir="auto">{mark.key}</code> and <code dir="auto">{mark.other}</code> contradict each other: to be settled under Facts.</span></li>)}
          {more > 0 && <li className="muted">and {count(more)} more to be settled under Facts.</li>}
        </ul>
      )}
    </section>
  )
}

function Pages({ from, of, label, onGo }: { from: number; of: number; label: string; onGo(from: number): void }) {
  return (
    <nav className="pages" aria-label={label}>
      <button type="button" className="icon-button" disabled={from === 0} aria-label="Changes before these" title="Changes before these" onClick={() => onGo(Math.max(0, from - PAGE))}><Icon name="left" /></button>
      <span className="num" role="status">{of ? count(from + 1) : 0}–{count(Math.min(of, from + PAGE))} of {count(of)}</span>
      <button type="button" className="icon-button" disabled={from + PAGE >= of} aria-label="Changes after these" title="Changes after these" onClick={() => onGo(from + PAGE)}><Icon name="right" /></button>
    </nav>
  )
}

function Line({ change, chosen, fixed, onChoose }: { change: Change; chosen: boolean; fixed: boolean; onChoose(on: boolean): void }) {
  const both = change.by === null ? change.key : `${change.key} and ${change.by}`
  return (
    <li className={chosen ? 'change' : 'change left'} data-testid={`change-${change.key}`}>
      <input type="checkbox" checked={chosen} disabled={fixed} aria-label={`${actionText(change)} ${both}`} onChange={(e) => onChoose(e.target.checked)} />
      <div>
        <p className="change-head"><span className={change.action === 'conflict' ? 'tag warn' : 'tag'}>{change.action === 'conflict' && <Icon name="warning" />}{actionText(change)}</span><span className="muted">{sentence(change.why)} {change.judged_in ? <Link href={to.run(change.judged_in)}>Judged by a model</Link> : 'By rule.'}</span></p>
        <Side name={change.key} fact={change.fact} over={change.action !== 'conflict'} />
        {change.by !== null && <Side name={change.by} fact={change.other} over={change.action === 'rewrite'} />}
        {change.text !== null && <p className="side new"><code dir="auto">{change.by}</code><span className="side-value"><PlainText text={change.text} /></span><span className="muted">both in one statement, derived</span></p>}
        {change.action === 'conflict' && <p className="muted">Neither is changed: both are marked for a person to settle.</p>}
      </div>
    </li>
  )
}

/** What a fact says now; struck where it would be retired. */
function Side({ name, fact, over }: { name: string; fact: Fact | null; over: boolean }) {
  const value = <PlainText text={shortJson(fact?.value) || 'empty'} />
  return (
    <p className="side">
      <code dir="auto">{name}</code>
      <span className="side-value">{over ? <s>{value}</s> : value}</span>
      {fact && <span className="muted side-foot"><Whence fact={fact} /><span>{ago(fact.recorded_at)}</span></span>}
    </p>
  )
}

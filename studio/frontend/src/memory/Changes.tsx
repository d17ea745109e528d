// What a consolidation would change on one shelf, change by change, each of which may be left out; and what waits for a person.
import { useState } from 'react'
import type { Change, Fact, ShelfPlan } from '../api/types'
import { Icon } from '../app/icons'
import { Link, PlainText } from '../app/Link'
import { to } from '../app/router'
import { count } from '../lib/money'
import { plural, sentence, shortJson } from '../lib/text'
import { ago } from '../lib/time'
import { Whence } from './Whence'
import { actionText, choose } from './care'

const PAGE = 50

interface Props {
  plan: ShelfPlan
  /** Ids of changes that are left out. */
  leave: ReadonlySet<string>
  /** Nothing can be chosen. */
  fixed: boolean
  onLeave(leave: ReadonlySet<string>): void
}

export function Changes({ plan, leave, fixed, onLeave }: Props) {
  const [shown, setShown] = useState(PAGE)
  const { shelf, changes, conflicts, marks, more } = plan
  const ids = changes.map((each) => each.id)
  const chosen = ids.filter((id) => !leave.has(id)).length
  return (
    <section aria-label={`${shelf.namespace} · ${shelf.scope} ${shelf.owner}`}>
      <div className="changes-head">
        <h3 dir="auto">{shelf.namespace} · {shelf.scope} {shelf.owner}</h3>
        <span className="grow" />
        {changes.length > 0 && <span className="muted num">{count(chosen)} of {plural(changes.length, 'change')} chosen</span>}
        {!fixed && changes.length > 1 && <button type="button" className="plain-button" onClick={() => onLeave(choose(leave, ids, chosen === 0))}>{chosen === 0 ? 'Choose all' : 'Choose none'}</button>}
      </div>
      <ul className="changes">
        {changes.slice(0, shown).map((each) => <Line key={each.id} change={each} chosen={!leave.has(each.id)} fixed={fixed} onChoose={(on) => onLeave(choose(leave, [each.id], on))} />)}
      </ul>
      {changes.length > shown && <button type="button" onClick={() => setShown(shown + 4 * PAGE)}>Show more of {count(changes.length)}</button>}
      {more > 0 && <p className="muted">and {plural(more, 'more change')} that cannot be shown here: all of them are made with these.</p>}
      {conflicts.length + marks.length > 0 && (
        <ul className="waits">
          {conflicts.map((key) => <li key={key}><span className="tag warn"><Icon name="warning" />conflict</span><span><code dir="auto">{key}</code> is left for a person to settle, under Facts.</span></li>)}
          {marks.map((mark) => <li key={`${mark.key}\n${mark.other}`}><span className="tag warn"><Icon name="warning" />marked</span><span><code dir="auto">{mark.key}</code> and <code dir="auto">{mark.other}</code> contradict each other: to be settled under Facts.</span></li>)}
        </ul>
      )}
    </section>
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

// The facts as they were once a step was through, what the step did with them first.
import { api } from '../api/client'
import type { FactThen } from '../api/types'
import { Failure } from '../app/Failure'
import { Link, PlainText } from '../app/Link'
import { useLoad } from '../app/useLoad'
import { count } from '../lib/money'
import { plural, shortJson } from '../lib/text'
import { instant } from '../lib/time'
import { live, type Row } from './row'

const WROTE: Record<string, string> = { created: 'written here', replaced: 'replaced here', seen: 'said again here', conflict: 'a conflict was put beside it here' }
const PARTS: Record<string, string> = { event: 'At this moment', step: 'After this step', node: 'After this node', run: 'After this run' }

export function StepFacts({ row }: { row: Row }) {
  const first = row.events[0]!
  const facts = useLoad(() => api.stepFacts(first.session_uid, row.seq), `${first.session_uid}|${row.seq}|${live(row)}`)
  if (facts.error !== null) return <Failure error={facts.error} retry={facts.reload} />
  const told = facts.data
  if (!told || told.seq !== row.seq) return <p className="muted" role="status">Looking up the facts…</p>
  const touched = told.facts.filter((each) => each.wrote || each.read || each.sent)
  const rest = told.facts.filter((each) => !each.wrote && !each.read && !each.sent)
  return (
    <section className="step-facts" aria-label="Facts then">
      <h3>{PARTS[told.part] ?? 'Then'}, {instant(told.at)} UTC</h3>
      <p className="muted">{told.shelves.map((shelf) => `${shelf.scope} ${shelf.owner} · ${shelf.namespace}`).join(', ') || 'No Memory was attached.'}</p>
      {told.facts.length === 0 && <p className="muted">Nothing was remembered yet.</p>}
      {touched.length > 0 && <ul aria-label="Sent, read or written by the step">{touched.map((each) => <Then key={id(each)} each={each} />)}</ul>}
      {told.forgot.length > 0 && <p>Forgotten here: {told.forgot.map((key) => <code key={key} dir="auto">{key} </code>)}</p>}
      {rest.length > 0 && (
        <details open={!touched.length}><summary>{touched.length ? `${plural(rest.length, 'other fact')}, not part of it` : plural(rest.length, 'fact')}</summary>
          <ul>{rest.map((each) => <Then key={id(each)} each={each} />)}</ul></details>
      )}
      {told.left_out > 0 && <p className="muted">and {count(told.left_out)} more</p>}
      {told.internal > 0 && <p className="muted">{plural(told.internal, 'internal fact')} of Farthing’s own, such as summaries and plans.</p>}
      <p><Link href="/memory">Open the memory as it is now</Link></p>
    </section>
  )
}

const id = (each: FactThen) => `${each.fact.shelf.namespace}\n${each.fact.shelf.scope}\n${each.fact.key}`

function Then({ each }: { each: FactThen }) {
  const { fact } = each
  return (
    <li className={each.wrote ? 'wrote' : undefined}>
      <div><code dir="auto">{fact.key}</code>
        {each.wrote && <span className={each.wrote === 'conflict' ? 'tag warn' : 'tag mark'}>{WROTE[each.wrote] ?? each.wrote}</span>}
        {each.read && <span className="tag">read</span>}
        {each.sent && <span className="tag">in the prompt</span>}
        {fact.origin === 'tainted' && <span className="tag warn">tainted</span>}</div>
      <p><PlainText text={shortJson(fact.value) || 'empty'} /></p>
      {each.before && <p className="muted"><s><PlainText text={shortJson(each.before.value) || 'empty'} /></s> until then</p>}
    </li>
  )
}

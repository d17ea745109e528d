// A model's judgement of facts that are alike: who would be asked, what it may cost at most, and how far it is.
import { useState } from 'react'
import type { Asking, CareProgress } from '../api/types'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { Link } from '../app/Link'
import type { Loaded } from '../app/useLoad'
import { count } from '../lib/money'
import { plural } from '../lib/text'
import { costText, limitsOf, spentText } from './care'

interface Props {
  user: string
  rehearsal: boolean
  operator: boolean
  asking: Loaded<Asking>
  /** The judgement that is under way. */
  running: CareProgress | null
  /** Something is under way. */
  busy: boolean
  onBegin(limits: string[]): void
  onCancel(): void
}

export function Judge({ user, rehearsal, operator, asking, running, busy, onBegin, onCancel }: Props) {
  const [sure, setSure] = useState(false)
  const { data } = asking
  return (
    <section className="judge" aria-label="Judged by a model">
      <h3>Judged by a model {rehearsal && <span className="tag rehearsal">rehearsal</span>}</h3>
      {asking.error !== null && <Failure error={asking.error} retry={asking.reload} />}
      {running ? (
        <div className="judging" role="status">
          <progress value={running.done} max={Math.max(1, running.of)} aria-label="Judging" />
          <span className="num">{count(running.done)} of {plural(running.of, 'pair')} judged</span>
          <span className="muted num">{running.tokens > 0 ? `${spentText(running)} so far` : 'nothing used so far'}</span>
          <span className="grow" />
          {operator && <button type="button" onClick={onCancel}>Cancel</button>}
        </div>
      ) : data === null ? asking.error === null && <p className="muted">Looking for facts that are alike…</p>
        : data.model === null ? <p className="muted">{data.why ?? 'No model is connected, so only the rules apply.'} {operator && <Link href="/settings">Connect one</Link>}</p>
          : data.pairs === 0 ? <p className="muted">No facts are alike that <span dir="auto">{data.model}</span> was not asked about.</p>
            : <Offer asking={data} operator={operator} busy={busy} onAsk={() => setSure(true)} />}
      {sure && data?.model && (
        <Dialog title={`Ask ${data.model} about ${user}’s memory?`} onClose={() => setSure(false)}>
          <Most asking={data} />
          <p>{rehearsal ? 'This is a rehearsal: no model is asked, and nothing is paid.' : `It is charged to ${user}’s own budgets, and ends before it uses more than this.`} Nothing is changed by it: what it says becomes proposals, and an answer is kept and not paid again.</p>
          <footer><button type="button" data-first onClick={() => setSure(false)}>Not now</button><button type="button" className="primary" onClick={() => { setSure(false); onBegin(limitsOf(data)) }}>Ask it</button></footer>
        </Dialog>
      )}
    </section>
  )
}

function Offer({ asking, operator, busy, onAsk }: { asking: Asking; operator: boolean; busy: boolean; onAsk(): void }) {
  return (
    <>
      <p>{plural(asking.pairs, 'pair')} of facts {asking.pairs === 1 ? 'is' : 'are'} alike. <strong dir="auto">{asking.model}</strong> can say whether they say the same, belong in one statement, or contradict each other. What a person wrote is never replaced.</p>
      <div className="judging">
        <span className="num">At most {plural(asking.calls, 'call')}, {plural(asking.tokens, 'token')}, {costText(asking.cost)}</span>
        <span className="grow" />
        {operator ? <button type="button" disabled={busy} onClick={onAsk}>Ask the model…</button> : <span className="muted">An operator can ask it.</span>}
      </div>
    </>
  )
}

function Most({ asking }: { asking: Asking }) {
  return (
    <table className="most">
      <caption>What it uses at most</caption>
      <tbody>
        <tr><th scope="row">Pairs of facts</th><td className="num">{count(asking.pairs)}</td></tr>
        <tr><th scope="row">Calls, if each answer has to be asked for again</th><td className="num">{count(asking.calls)}</td></tr>
        <tr><th scope="row">Tokens</th><td className="num">{count(asking.tokens)}</td></tr>
        <tr><th scope="row">Cost</th><td className={asking.cost === null ? 'num unknown' : 'num'}>{asking.cost === null ? 'unknown' : costText(asking.cost)}</td></tr>
      </tbody>
    </table>
  )
}

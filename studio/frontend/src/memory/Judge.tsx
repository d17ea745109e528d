// A model's judgement of facts that are alike: which model is asked, what it may cost at most, and how far it is.
import { type FormEvent, useState } from 'react'
import type { Asking, CareProgress, Offer } from '../api/types'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { Link } from '../app/Link'
import type { Loaded } from '../app/useLoad'
import { count } from '../lib/money'
import { plural } from '../lib/text'
import { costText, limitsOf, priceText, spentText } from './care'

interface Props {
  user: string
  rehearsal: boolean
  operator: boolean
  asking: Loaded<Asking>
  /** A model that is offered besides those that are configured; empty: none. */
  other: string
  onOther(model: string): void
  /** The judgement that is under way. */
  running: CareProgress | null
  /** Something is under way. */
  busy: boolean
  onBegin(model: string, limits: string[]): void
  onCancel(): void
}

export function Judge({ user, rehearsal, operator, asking, other, onOther, running, busy, onBegin, onCancel }: Props) {
  const [sure, setSure] = useState(false)
  const [wanted, setWanted] = useState<string | null>(null)
  const { data } = asking
  const models = data?.models ?? []
  const chosen = models.find((each) => each.name === wanted || (wanted === other && each.name.startsWith(`${other}:`))) ?? models.find((each) => each.default) ?? models[0]
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
        : !chosen ? <p className="muted">{data.why ?? 'No model is connected, so only the rules apply.'} {operator && <Link href="/settings">Connect one</Link>}</p>
          : data.pairs === 0 ? <p className="muted">{rehearsal ? 'No facts are alike that the rehearsal was not asked about.' : 'No facts are alike that no model was asked about.'}</p>
            : (
              <>
                <p>{plural(data.pairs, 'pair')} of facts {data.pairs === 1 ? 'is' : 'are'} alike. A model can say whether they say the same, belong in one statement, or contradict each other. What a person wrote is never replaced.</p>
                <Offers models={models} chosen={chosen} fixed={!operator || busy} onChoose={setWanted} />
                {data.why !== null && <p className="wrongs warn">{data.why}</p>}
                <div className="judging">
                  {!rehearsal && operator && <Other key={other} busy={asking.loading} onName={(model) => { onOther(model); setWanted(model) }} />}
                  <span className="grow" />
                  {operator ? <button type="button" disabled={busy} onClick={() => setSure(true)}>Ask the model…</button> : <span className="muted">An operator can ask it.</span>}
                </div>
              </>
            )}
      {sure && data && chosen && (
        <Dialog title={`Ask ${chosen.name} about ${user}’s memory?`} onClose={() => setSure(false)}>
          <Most pairs={data.pairs} offer={chosen} />
          <p>{rehearsal ? 'This is a rehearsal: no model is asked, and nothing is paid.' : `It is charged to ${user}’s own budgets, and ends before it uses more than this.`} Nothing is changed by it: what it says becomes proposals, and an answer is kept and not paid again.</p>
          <footer><button type="button" data-first onClick={() => setSure(false)}>Not now</button><button type="button" className="primary" onClick={() => { setSure(false); onBegin(chosen.name, limitsOf(chosen)) }}>Ask it</button></footer>
        </Dialog>
      )}
    </section>
  )
}

interface OffersProps {
  models: readonly Offer[]
  chosen: Offer
  fixed: boolean
  onChoose(model: string): void
}

/** The models that could be asked, each with its price and what asking costs at most. */
function Offers({ models, chosen, fixed, onChoose }: OffersProps) {
  return (
    <div className="table-box">
      <table className="table models">
        <thead><tr><th scope="col">Model</th><th scope="col" className="num">A million tokens cost</th><th scope="col" className="num">Asking takes at most</th><th scope="col" className="num">and costs at most</th></tr></thead>
        <tbody>
          {models.map((each) => (
            <tr key={each.name} className={each === chosen ? 'selected' : ''}>
              <th scope="row"><label className="check"><input type="radio" name="judge" checked={each === chosen} disabled={fixed} onChange={() => onChoose(each.name)} /><span dir="auto">{each.name}</span>{each.default && <span className="tag">default</span>}</label></th>
              <td className={each.input === null ? 'num unknown' : 'num'}>{priceText(each)}</td>
              <td className="num">{plural(each.calls, 'call')}, {plural(each.tokens, 'token')}</td>
              <td className={each.cost === null ? 'num unknown' : 'num'}>{each.cost === null ? 'unknown' : costText(each.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A model that is in no settings, by its name. */
function Other({ busy, onName }: { busy: boolean; onName(model: string): void }) {
  const [text, setText] = useState('')
  const name = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim()) onName(text.trim())
  }
  return (
    <form className="inline-form" onSubmit={name}>
      <label><span>Another model</span><input className="mono" value={text} placeholder="provider:name" onChange={(e) => setText(e.target.value)} /></label>
      <button type="submit" disabled={busy || !text.trim()}>Show its price</button>
    </form>
  )
}

function Most({ pairs, offer }: { pairs: number; offer: Offer }) {
  return (
    <table className="most">
      <caption>What it uses at most</caption>
      <tbody>
        <tr><th scope="row">Pairs of facts</th><td className="num">{count(pairs)}</td></tr>
        <tr><th scope="row">Calls, if each answer has to be asked for again</th><td className="num">{count(offer.calls)}</td></tr>
        <tr><th scope="row">Tokens</th><td className="num">{count(offer.tokens)}</td></tr>
        <tr><th scope="row">Cost</th><td className={offer.cost === null ? 'num unknown' : 'num'}>{offer.cost === null ? 'unknown' : costText(offer.cost)}</td></tr>
      </tbody>
    </table>
  )
}

// Erase a fact: what will be reached is shown before it is done, and the receipt after it.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact, Receipt } from '../api/types'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { PlainText } from '../app/Link'
import { useLoad } from '../app/useLoad'
import { count } from '../lib/money'
import { shortJson } from '../lib/text'
import { instant } from '../lib/time'
import { afterwards, placesOf } from './receipt'

export function EraseDialog({ fact, rehearsal, onClose, onErased }: { fact: Fact; rehearsal: boolean; onClose(): void; onErased(): void }) {
  const preview = useLoad(() => api.eraseFacts(fact.shelf, [fact.key], true, rehearsal), fact.key)
  const [receipt, setReceipt] = useState<Receipt | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const close = receipt ? onErased : onClose
  const erase = () => {
    setBusy(true)
    api.eraseFacts(fact.shelf, [fact.key], false, rehearsal).then(setReceipt, setError).finally(() => setBusy(false))
  }
  if (receipt) {
    return (
      <Dialog key="receipt" title={`${fact.key} is erased`} onClose={close}>
        <p>Receipt <code>{receipt.receipt}</code><br /><span className="muted">{instant(receipt.at)} UTC, by <span dir="auto">{receipt.actor}</span></span></p>
        <Reached receipt={receipt} />
        {afterwards(receipt).map((each) => <p key={each} className="wrongs warn">{each}</p>)}
        <footer><button type="button" className="primary" data-first onClick={close}>Done</button></footer>
      </Dialog>
    )
  }
  return (
    <Dialog key="preview" title={`Erase ${fact.key}?`} onClose={close}>
      <p className="quote"><PlainText text={shortJson(fact.value) || 'empty'} /></p>
      <p>Every value that this fact ever had is taken out of the fact itself, old timelines and conversations. There is no way back.</p>
      {preview.error !== null && <Failure error={preview.error} retry={preview.reload} />}
      {preview.data ? <Reached receipt={preview.data} /> : preview.error === null && <p className="muted" role="status">Looking where it stands…</p>}
      {error !== null && <Failure error={error} />}
      <footer><button type="button" data-first onClick={close}>Keep it</button><button type="button" className="danger" disabled={!preview.data || busy} onClick={erase}>Erase for good</button></footer>
    </Dialog>
  )
}

function Reached({ receipt }: { receipt: Receipt }) {
  return (
    <>
      <table className="table reached"><caption>{receipt.erased ? 'Erased from' : 'Will be erased from'}</caption>
        <tbody>{placesOf(receipt.places).map(({ place, times }) => <tr key={place}><td className="num">{count(times)}</td><td>{place}</td></tr>)}</tbody>
      </table>
      {Object.keys(receipt.left).length > 0 && <p className="wrongs warn">{receipt.erased ? 'Stays' : 'Will stay'}, since so short a text may stand there by chance: {placesOf(receipt.left).map(({ place, times }) => `${count(times)} ${place}`).join(', ')}.</p>}
      <details><summary>What is not reached</summary><ul className="not-reached">{receipt.not_reached.map((each) => <li key={each}>{each}</li>)}</ul></details>
    </>
  )
}

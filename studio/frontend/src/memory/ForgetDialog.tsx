// Forget a fact: agents no longer see it, and it can be put back.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact } from '../api/types'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { PlainText } from '../app/Link'
import { plural, shortJson } from '../lib/text'

export function ForgetDialog({ fact, rehearsal, onClose, onDone }: { fact: Fact; rehearsal: boolean; onClose(): void; onDone(): void }) {
  const [error, setError] = useState<unknown>(null)
  return (
    <Dialog title={`Forget ${fact.key}?`} onClose={onClose}>
      <p className="quote"><PlainText text={shortJson(fact.value) || 'empty'} /></p>
      <p>Agents no longer see it, and nothing brings it back on its own. {(fact.version ?? 1) > 1 ? `Its ${plural((fact.version ?? 1) - 1, 'former value')} go with it. ` : ''}It stays stored, and its text stays in old timelines: Erase takes it out of both.</p>
      {error !== null && <Failure error={error} />}
      <footer><button type="button" autoFocus onClick={onClose}>Keep it</button><button type="button" className="danger" onClick={() => api.forgetFacts(fact.shelf, [fact.key], rehearsal).then(onDone, setError)}>Forget it</button></footer>
    </Dialog>
  )
}

/** What was forgotten on this page just now, each with a way back. */
export function Forgotten({ facts, rehearsal, onBack }: { facts: readonly Fact[]; rehearsal: boolean; onBack(fact: Fact): void }) {
  const [error, setError] = useState<unknown>(null)
  return (
    <div className="forgotten-lines" role="status">
      {facts.map((fact) => (
        <p key={`${fact.shelf.namespace}\n${fact.shelf.scope}\n${fact.shelf.owner}\n${fact.key}`}><span><code dir="auto">{fact.key}</code> of <span dir="auto">{fact.shelf.owner}</span> is forgotten.</span>
          <button type="button" aria-label={`Undo forgetting ${fact.key}`} onClick={() => api.undoFact(fact.shelf, fact.key, rehearsal).then(() => { setError(null); onBack(fact) }, setError)}>Undo</button></p>
      ))}
      {error !== null && <Failure error={error} />}
    </div>
  )
}

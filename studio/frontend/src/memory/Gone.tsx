// What is no longer current: forgotten by somebody, retired by a consolidation, or over; with the way back, and erasing.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { PlainText } from '../app/Link'
import { plural, shortJson } from '../lib/text'
import { ago, instant } from '../lib/time'
import { EraseDialog } from './EraseDialog'

const WORDS: Record<string, string> = { forgotten: 'forgotten', superseded: 'retired' }

export function Gone({ facts, rehearsal, onChanged }: { facts: readonly Fact[]; rehearsal: boolean; onChanged(): void }) {
  const [error, setError] = useState<unknown>(null)
  const [erasing, setErasing] = useState<Fact | null>(null)
  if (!facts.length) return null
  return (
    <details className="gone">
      <summary>{plural(facts.length, 'fact')} no longer current</summary>
      {error !== null && <Failure error={error} />}
      <ul>
        {facts.map((fact) => (
          <li key={fact.key} data-testid={`gone-${fact.key}`}>
            <code dir="auto">{fact.key}</code><s><PlainText text={shortJson(fact.value) || 'empty'} /></s>
            <span className="muted" title={`${instant(fact.valid_to ?? fact.recorded_at)} UTC`}>{WORDS[fact.state ?? ''] ?? fact.state}{fact.valid_to ? `, ${ago(fact.valid_to)}` : ''}</span>
            <span className="grow" />
            {fact.state === 'forgotten' && <button type="button" className="small" aria-label={`Undo forgetting ${fact.key}`} onClick={() => api.undoFact(fact.shelf, fact.key, rehearsal).then(() => { setError(null); onChanged() }, setError)}>Undo</button>}
            <button type="button" className="icon-button" aria-label={`Erase ${fact.key}`} title="Erase: delete it everywhere, for good" onClick={() => setErasing(fact)}><Icon name="trash" /></button>
          </li>
        ))}
      </ul>
      {erasing && <EraseDialog fact={erasing} rehearsal={rehearsal} onClose={() => setErasing(null)} onErased={() => { setErasing(null); onChanged() }} />}
    </details>
  )
}

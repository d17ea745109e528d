// Two facts that cannot both be true, as one of them shows it: what the other says, why, and a person's word on it.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact, Mark } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { Link, PlainText } from '../app/Link'
import { to } from '../app/router'
import { sentence, shortJson } from '../lib/text'

interface Props {
  fact: Fact
  /** Null where it is not among the facts that are shown. */
  other: Fact | null
  mark: Mark
  rehearsal: boolean
  onChanged(): void
  onFind?(key: string): void
}

export function Contradiction({ fact, other, mark, rehearsal, onChanged, onFind }: Props) {
  const [error, setError] = useState<unknown>(null)
  const against = mark.key === fact.key ? mark.other : mark.key
  const settle = (right: string, wrong: string, both: boolean) => void api.settleMark(fact.shelf, right, wrong, both, rehearsal).then(() => { setError(null); onChanged() }, setError)
  return (
    <div className="settle" role="group" aria-label={`${fact.key} and ${against} contradict each other`}>
      <p><Icon name="warning" /> Cannot be true together with <button type="button" className="plain-button" onClick={() => onFind?.(against)}><code dir="auto">{against}</code></button>{other && <>: <PlainText text={shortJson(other.value) || 'empty'} /></>}</p>
      <p className="muted">{sentence(mark.why)} {mark.judged_in && <Link href={to.run(mark.judged_in)}>Judged by a model</Link>}</p>
      <div>
        <button type="button" className="small" onClick={() => settle(fact.key, against, false)}>Keep this one</button>
        <button type="button" className="small" onClick={() => settle(against, fact.key, false)}>Keep the other</button>
        <button type="button" className="small" onClick={() => settle(fact.key, against, true)}>Both are right</button>
      </div>
      {error !== null && <Failure error={error} />}
    </div>
  )
}

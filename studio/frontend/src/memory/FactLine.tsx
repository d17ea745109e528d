// A fact as a sentence, with its marks, its former values, and what can be done with it.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact, Mark } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { PlainText } from '../app/Link'
import { useLoad } from '../app/useLoad'
import { plural, shortJson } from '../lib/text'
import { ago, instant } from '../lib/time'
import { Contradiction } from './Contradiction'
import { EraseDialog } from './EraseDialog'
import { FactValue } from './FactValue'
import { ForgetDialog } from './ForgetDialog'
import { MoveDialog } from './MoveDialog'
import { Whence } from './Whence'

interface Props {
  fact: Fact
  /** As it was at a time: nothing can be changed. */
  past: boolean
  rehearsal: boolean
  /** Versions that say otherwise and wait for a person. */
  conflicts: readonly Fact[]
  /** Facts that contradict it, with why. */
  against?: readonly { mark: Mark; other: Fact | null }[]
  onChanged(): void
  onForgotten(fact: Fact): void
  /** Show another fact of the shelf. */
  onFind?(key: string): void
}

export function FactLine({ fact, past, rehearsal, conflicts, against = [], onChanged, onForgotten, onFind }: Props) {
  const [open, setOpen] = useState(false)
  const [editing, setEditing] = useState(false)
  const [asking, setAsking] = useState<'forget' | 'erase' | 'move' | null>(null)
  const former = (fact.version ?? 1) > 1
  return (
    <li className={`fact ${conflicts.length || against.length ? 'conflict' : (fact.state ?? '')}`} data-testid={`fact-${fact.key}`} data-fact={fact.key} tabIndex={-1}>
      <div className="fact-head">
        <code dir="auto">{fact.key}</code>
        {fact.kind && fact.kind !== 'fact' && <span className="tag">{fact.kind}</span>}
        <Marks fact={fact} />
        {against.length > 0 && <span className="tag warn"><Icon name="warning" />contradicted</span>}
        <span className="grow" />
        {!past && (
          <>
            <button type="button" className="icon-button" onClick={() => setEditing(!editing)} aria-label={`Edit ${fact.key}`} title="Edit"><Icon name="edit" /></button>
            <button type="button" className="icon-button" onClick={() => setAsking('move')} aria-label={`Move ${fact.key}`} title="Move to another user, session or namespace"><Icon name="right" /></button>
            <button type="button" className="icon-button" onClick={() => setAsking('forget')} aria-label={`Forget ${fact.key}`} title="Forget: agents no longer see it"><Icon name="hide" /></button>
            <button type="button" className="icon-button" onClick={() => setAsking('erase')} aria-label={`Erase ${fact.key}`} title="Erase: delete it everywhere, for good"><Icon name="trash" /></button>
          </>
        )}
      </div>
      {editing ? <FactValue value={fact.value} label={`New value of ${fact.key}`} onCancel={() => setEditing(false)}
        onSave={async (value) => { await api.writeFact(fact.shelf, { key: fact.key, value, kind: fact.kind, expect_version: fact.state === 'conflict' ? undefined : fact.version, rehearsal }); setEditing(false); onChanged() }} />
        : <p className="fact-value"><PlainText text={shortJson(fact.value) || 'empty'} /></p>}
      <div className="fact-foot muted">
        <Whence fact={fact} />
        <span title={`${instant(fact.recorded_at)} UTC`}>{ago(fact.recorded_at)}</span>
        {(fact.confidence ?? 1) < 1 && <span>{Math.round((fact.confidence ?? 1) * 100)} % sure</span>}
        {(fact.seen ?? 1) > 1 && <span>said {fact.seen} times</span>}
        {former && <button type="button" className="plain-button" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? 'Hide' : 'Show'} {plural((fact.version ?? 1) - 1, 'former value')}</button>}
      </div>
      {conflicts.length > 0 && <Settle fact={fact} conflicts={conflicts} rehearsal={rehearsal} onChanged={onChanged} onNeither={() => setAsking('forget')} />}
      {against.map(({ mark, other }) => <Contradiction key={`${mark.key}\n${mark.other}`} fact={fact} other={other} mark={mark} rehearsal={rehearsal} onChanged={onChanged} onFind={onFind} />)}
      {open && <Versions fact={fact} rehearsal={rehearsal} onUndone={past ? null : onChanged} />}
      {asking === 'move' && <MoveDialog shelf={fact.shelf} keys={[fact.key]} rehearsal={rehearsal} onClose={() => setAsking(null)} onMoved={() => { setAsking(null); onChanged() }} />}
      {asking === 'forget' && <ForgetDialog fact={fact} rehearsal={rehearsal} onClose={() => setAsking(null)} onDone={() => { setAsking(null); onForgotten(fact) }} />}
      {asking === 'erase' && <EraseDialog fact={fact} rehearsal={rehearsal} onClose={() => setAsking(null)} onErased={() => { setAsking(null); onChanged() }} />}
    </li>
  )
}

interface SettleProps {
  fact: Fact
  conflicts: readonly Fact[]
  rehearsal: boolean
  onChanged(): void
  onNeither(): void
}

function Settle({ fact, conflicts, rehearsal, onChanged, onNeither }: SettleProps) {
  const [error, setError] = useState<unknown>(null)
  const keep = (version: number | undefined) => api.settleFact(fact.shelf, fact.key, version ?? 1, rehearsal).then(() => { setError(null); onChanged() }, setError)
  return (
    <div className="settle" role="group" aria-label={`Conflict of ${fact.key}`}>
      <p><Icon name="warning" /> {conflicts.length > 1 ? 'Others say' : 'Another says'} otherwise, after a tool’s output; agents are not told until you decide.</p>
      <ul>
        {conflicts.map((each) => (
          <li key={each.version}><span><PlainText text={shortJson(each.value) || 'empty'} /></span><span className="muted"><Whence fact={each} /> · {ago(each.recorded_at)}</span><span className="grow" /><button type="button" className="small" onClick={() => void keep(each.version)}>Take this</button></li>
        ))}
      </ul>
      <div>{fact.state !== 'conflict' && <button type="button" className="small" onClick={() => void keep(fact.version)}>Keep what it is</button>}<button type="button" className="small" onClick={onNeither}>Neither…</button></div>
      {error !== null && <Failure error={error} />}
    </div>
  )
}

function Marks({ fact }: { fact: Fact }) {
  const until = fact.valid_to ? new Date(fact.valid_to).getTime() : null
  return (
    <>
      {fact.state === 'conflict' && <span className="tag warn"><Icon name="warning" />conflict, not used</span>}
      {fact.state === 'forgotten' && <span className="tag"><Icon name="close" />forgotten</span>}
      {fact.origin === 'tainted' && fact.state !== 'conflict' && <span className="tag warn"><Icon name="warning" />tainted</span>}
      {until !== null && <span className="tag"><Icon name="clock" />{until < Date.now() ? 'expired' : `until ${instant(fact.valid_to).slice(0, 16)}`}</span>}
    </>
  )
}

function Versions({ fact, rehearsal, onUndone }: { fact: Fact; rehearsal: boolean; onUndone: (() => void) | null }) {
  const versions = useLoad(() => api.factVersions(fact.shelf, fact.key, rehearsal), `${fact.key}|${fact.version}`)
  const [error, setError] = useState<unknown>(null)
  if (versions.error !== null) return <Failure error={versions.error} retry={versions.reload} />
  const former = (versions.data ?? []).filter((each) => (each.version ?? 1) !== fact.version && each.state !== 'conflict').sort((a, b) => (b.version ?? 0) - (a.version ?? 0))
  return (
    <div className="versions-box">
      <ol className="versions" aria-label={`Former values of ${fact.key}`}>
        {former.map((each) => (
          <li key={`${each.version}|${each.state}`}>
            <span className="num muted">{each.version}</span> <s><PlainText text={shortJson(each.value) || 'empty'} /></s>{each.state !== 'superseded' && <span className="tag">{each.state}</span>}
            <div className="fact-foot muted"><Whence fact={each} /><span>{instant(each.recorded_at)}{each.valid_to ? ` to ${instant(each.valid_to)}` : ''} UTC</span>{(each.confidence ?? 1) < 1 && <span>{Math.round((each.confidence ?? 1) * 100)} % sure</span>}</div>
          </li>
        ))}
      </ol>
      {error !== null && <Failure error={error} />}
      {onUndone && former.length > 0 && <button type="button" className="small" aria-label={`Undo the last change of ${fact.key}`} onClick={() => api.undoFact(fact.shelf, fact.key, rehearsal).then(onUndone, setError)}><Icon name="undo" /> Undo the last change</button>}
    </div>
  )
}

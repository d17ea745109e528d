// A fact as a sentence, with its marks, its former values, and what can be done with it.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { Link, PlainText } from '../app/Link'
import { to } from '../app/router'
import { useLoad } from '../app/useLoad'
import { plural, shortJson } from '../lib/text'
import { ago, instant } from '../lib/time'
import { EraseDialog } from './EraseDialog'
import { FactValue } from './FactValue'
import { ForgetDialog } from './ForgetDialog'

const ORIGINS: Record<string, string> = { user: 'said by the user', operator: 'set by an operator', model: 'written by the model', derived: 'derived', tainted: 'written after a tool’s output' }

export function FactLine({ fact, rehearsal, onChanged, onForgotten }: { fact: Fact; rehearsal: boolean; onChanged(): void; onForgotten(fact: Fact): void }) {
  const [open, setOpen] = useState(false)
  const [editing, setEditing] = useState(false)
  const [asking, setAsking] = useState<'forget' | 'erase' | null>(null)
  const gone = fact.state === 'forgotten'
  return (
    <li className={`fact ${fact.state ?? ''}`} data-testid={`fact-${fact.key}`}>
      <div className="fact-head">
        <code dir="auto">{fact.key}</code>
        {fact.kind && fact.kind !== 'fact' && <span className="tag">{fact.kind}</span>}
        <Marks fact={fact} />
        <span className="grow" />
        {!gone && <button type="button" className="icon-button" onClick={() => setEditing(!editing)} aria-label={`Edit ${fact.key}`} title="Edit"><Icon name="edit" /></button>}
        {!gone && <button type="button" className="icon-button" onClick={() => setAsking('forget')} aria-label={`Forget ${fact.key}`} title="Forget: agents no longer see it"><Icon name="hide" /></button>}
        <button type="button" className="icon-button" onClick={() => setAsking('erase')} aria-label={`Erase ${fact.key}`} title="Erase: delete it everywhere, for good"><Icon name="trash" /></button>
      </div>
      {editing ? <FactValue value={fact.value} label={`New value of ${fact.key}`} onCancel={() => setEditing(false)}
        onSave={async (value) => { await api.writeFact(fact.shelf, { key: fact.key, value, kind: fact.kind, expect_version: fact.version, rehearsal }); setEditing(false); onChanged() }} />
        : <p className="fact-value"><PlainText text={shortJson(fact.value) || 'empty'} /></p>}
      <div className="fact-foot muted">
        <span>{ORIGINS[fact.origin ?? ''] ?? fact.origin}{fact.actor ? ` (${fact.actor})` : ''}</span>
        {fact.source && <Link href={to.run(fact.source)}>{fact.step == null ? 'its run' : `step ${fact.step}`}</Link>}
        <span title={`${instant(fact.recorded_at)} UTC`}>{ago(fact.recorded_at)}</span>
        {(fact.confidence ?? 1) < 1 && <span>{Math.round((fact.confidence ?? 1) * 100)} % sure</span>}
        {(fact.seen ?? 1) > 1 && <span>said {fact.seen} times</span>}
        {(fact.version ?? 1) > 1 && <button type="button" className="plain-button" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? 'Hide' : 'Show'} {plural((fact.version ?? 1) - 1, 'former value')}</button>}
      </div>
      {open && <Versions fact={fact} rehearsal={rehearsal} />}
      {asking === 'forget' && <ForgetDialog fact={fact} rehearsal={rehearsal} onClose={() => setAsking(null)} onDone={() => { setAsking(null); onForgotten(fact) }} />}
      {asking === 'erase' && <EraseDialog fact={fact} rehearsal={rehearsal} onClose={() => setAsking(null)} onErased={() => { setAsking(null); onChanged() }} />}
    </li>
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

function Versions({ fact, rehearsal }: { fact: Fact; rehearsal: boolean }) {
  const versions = useLoad(() => api.factVersions(fact.shelf, fact.key, rehearsal), `${fact.key}|${fact.version}`)
  if (versions.error !== null) return <Failure error={versions.error} retry={versions.reload} />
  const former = (versions.data ?? []).filter((each) => each.version !== fact.version || each.state !== fact.state).sort((a, b) => (b.version ?? 0) - (a.version ?? 0))
  return (
    <ol className="versions" aria-label={`Former values of ${fact.key}`}>
      {former.map((each) => (
        <li key={`${each.version}|${each.state}`}>
          {each.state === 'conflict' ? <span><PlainText text={shortJson(each.value)} /> <span className="tag warn">conflict</span></span> : <s><PlainText text={shortJson(each.value) || 'empty'} /></s>}
          <span className="muted"> {instant(each.recorded_at)}{each.source && <> · <Link href={to.run(each.source)}>its run</Link></>}</span>
        </li>
      ))}
    </ol>
  )
}

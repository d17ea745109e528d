// Memory as a model would be given it for a question, inside an allowance: by the same code as a run's.
import { useState } from 'react'
import { api } from '../api/client'
import type { ShelfKey } from '../api/types'
import { Failure } from '../app/Failure'
import { useLater, useLoad } from '../app/useLoad'
import { count } from '../lib/money'
import { words } from '../lib/text'
import { Items } from '../timeline/Bill'

export function RecallPanel({ shelf, rehearsal }: { shelf: ShelfKey; rehearsal: boolean }) {
  const [question, setQuestion] = useState('')
  const [tokens, setTokens] = useState('')
  const late = useLater(question, 300)
  const few = useLater(tokens.trim(), 300)
  const allowed = /^\d+$/.test(few) ? Number(few) : undefined
  const [flow, setFlow] = useState('')
  const found = useLoad(() => api.recall(shelf, late, allowed, flow, rehearsal), `${late}|${allowed}|${flow}|${rehearsal}`)
  const told = found.data
  const sections = told ? [...new Set(told.items.map((item) => item.section ?? ''))] : []
  return (
    <div className="recall">
      <div className="facts-bar">
        <label className="stack grow"><span>What the user would say</span><input value={question} maxLength={4000} placeholder="What is my cat called?" dir="auto" onChange={(e) => setQuestion(e.target.value)} /></label>
        {told && told.flows.length > 1 && (
          <label className="stack"><span>By the Memory of</span><select value={told.flow} onChange={(e) => setFlow(e.target.value)}>{told.flows.map((each) => <option key={each.id} value={each.id}>{each.name}</option>)}</select></label>
        )}
        <label className="stack"><span>Allowance, tokens</span><input className="num" inputMode="numeric" value={tokens} placeholder={told ? String(told.allowance) : ''} onChange={(e) => setTokens(e.target.value)} /></label>
      </div>
      {found.error !== null && <Failure error={found.error} retry={found.reload} />}
      {told && (
        <>
          <p role="status">{told.items.length ? <><strong className="num">{count(told.tokens)}</strong> tokens would be sent; recalled memory may take {count(told.allowance)}.</> : 'Nothing would be sent.'}{!told.known && <span className="muted"> No run with this Memory is kept, so a Memory’s defaults hold.</span>}</p>
          {told.warnings.map((each) => <p key={each} className="wrongs warn">{each}</p>)}
          {sections.map((section) => <section key={section}><h3>{words(section)}</h3><Items items={told.items.filter((item) => item.section === section)} more={0} last="From" /></section>)}
          {told.left_out.length > 0 && <section><h3>Left out: {count(told.left_out.length)}</h3><Items items={told.left_out} more={0} last="Why" /></section>}
          {(told.stable || told.recalled) && <details><summary>The text, as it is sent</summary>{[told.stable, told.recalled].filter(Boolean).map((text) => <pre key={text} dir="auto" tabIndex={0} aria-label="The text">{text}</pre>)}</details>}
        </>
      )}
    </div>
  )
}

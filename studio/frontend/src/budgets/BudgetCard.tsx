// One counter: its gauge, its rows, and a raise.
import { useId, useState } from 'react'
import { api } from '../api/client'
import type { BudgetInfo } from '../api/types'
import { Failure } from '../app/Failure'
import { GaugeBar, filled, gaugeText } from '../app/GaugeBar'
import { Icon } from '../app/icons'
import { Link } from '../app/Link'
import { to } from '../app/router'
import { amountText, count, decimal, parseDollars } from '../lib/money'
import { shortName } from '../lib/text'
import { useCatalog } from '../state/catalog'
import { Rows } from './Ledger'
import { gaugeOf, isEveryone, limitOf, placeOf } from './rows'

export function BudgetCard({ budget, rehearsal, onChanged }: { budget: BudgetInfo; rehearsal: boolean; onChanged(after: BudgetInfo): void }) {
  const mayRaise = useCatalog((c) => c.me?.role === 'operator')
  const [open, setOpen] = useState(false)
  const [raising, setRaising] = useState(false)
  const gauge = gaugeOf(budget)
  const { level } = filled(gauge)
  const { key } = budget
  return (
    <li className={`budget-card ${level}`} data-testid={`budget-${gauge.budget}`}>
      <div className="budget-head">
        <strong dir="auto">{gauge.budget}</strong>
        <span className="muted" dir="auto" title={key.pot}>{placeOf(budget)} · <Owner budget={budget} />{key.start ? ` · from ${key.start.slice(0, 10)}` : ''}</span>
        <span className="grow" />
        {level === 'stop' && <span className="tag bad"><Icon name="blocked" />used up</span>}
        {level === 'warn' && <span className="tag warn"><Icon name="warning" />nearly used</span>}
        {mayRaise && <button type="button" aria-expanded={raising} onClick={() => setRaising(!raising)}>Raise</button>}
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? 'Hide rows' : 'Rows'}</button>
      </div>
      <div className="gauge-line"><GaugeBar gauge={gauge} /><span>{gaugeText(gauge)}</span>
        {budget.unknown > 0 && <span className="unknown">{count(budget.unknown)} calls of unknown cost</span>}
        {Number(budget.held) > 0 && <span className="muted">{amountText(key.metric, budget.held)} held</span>}
      </div>
      {raising && <RaiseForm budget={budget} rehearsal={rehearsal} onClose={() => setRaising(false)} onDone={(after) => { setRaising(false); onChanged(after) }} />}
      {open && <Rows budget={budget} rehearsal={rehearsal} />}
    </li>
  )
}

/** Whose it is: a session or a run by the session's name, a user by the id. */
function Owner({ budget: { key, session } }: { budget: BudgetInfo }) {
  const name = session ? shortName(session) : key.owner
  if (key.period === 'session') return <Link href={to.session(key.owner)} title={key.owner}>{name}</Link>
  if (key.period === 'run') return <Link href={to.run(key.owner)} title={key.owner}>{session ? `a run of ${name}` : name}</Link>
  return isEveryone(key.owner) ? 'everybody' : key.owner
}

function RaiseForm({ budget, rehearsal, onClose, onDone }: { budget: BudgetInfo; rehearsal: boolean; onClose(): void; onDone(after: BudgetInfo): void }) {
  const id = useId()
  const { metric } = budget.key
  const limit = limitOf(budget) ?? 0
  const [amount, setAmount] = useState(metric === 'spend' ? decimal(limit * 2) : String(limit * 2))
  const [good, setGood] = useState(false)
  const [reason, setReason] = useState('')
  const [error, setError] = useState<unknown>(null)
  const value = metric === 'spend' ? parseDollars(amount) : /^\d+$/.test(amount) ? Number(amount) : null
  const submit = (event: React.FormEvent) => {
    event.preventDefault()
    if (value !== null && reason.trim()) api.raise(budget.key, amount.trim(), good, reason.trim(), rehearsal).then(onDone, setError)
  }
  return (
    <form className="raise" onSubmit={submit}>
      <label htmlFor={`${id}-a`}>New limit</label>
      <span className="with-unit"><input id={`${id}-a`} className="num" autoFocus inputMode="decimal" value={amount} aria-invalid={value === null || undefined} onChange={(e) => setAmount(e.target.value)} /><span className="unit">{metric === 'spend' ? '$' : 'tokens'}</span></span>
      <select aria-label="For how long" value={good ? 'good' : 'period'} onChange={(e) => setGood(e.target.value === 'good')}><option value="period">for this period</option><option value="good">for good</option></select>
      <input aria-label="Reason" required placeholder="Reason" value={reason} onChange={(e) => setReason(e.target.value)} />
      <button type="submit" className="primary" disabled={value === null || !reason.trim()}>Raise</button>
      <button type="button" onClick={onClose}>Cancel</button>
      {error !== null && <Failure error={error} />}
    </form>
  )
}

// One counter: gauge, what spent it, burn-down with threshold and limit, its rows, and a raise.
import { useId, useState } from 'react'
import { api } from '../api/client'
import type { BudgetInfo, LedgerRow } from '../api/types'
import { Failure } from '../app/Failure'
import { GaugeBar, filled, gaugeText } from '../app/GaugeBar'
import { Icon } from '../app/icons'
import { Link } from '../app/Link'
import { to } from '../app/router'
import { useLoad } from '../app/useLoad'
import { amountText, count, decimal, fixedDollars, nanosOf, parseDollars } from '../lib/money'
import { instant } from '../lib/time'
import { Burn } from './Burn'
import { amountOfRow, burn, gaugeOf, isUse, limitOf, shares, sourceText, stateOfRow } from './rows'

export function BudgetCard({ budget, rehearsal, onChanged }: { budget: BudgetInfo; rehearsal: boolean; onChanged(): void }) {
  const [open, setOpen] = useState(false)
  const [raising, setRaising] = useState(false)
  const gauge = gaugeOf(budget)
  const { level } = filled(gauge)
  const { key } = budget
  return (
    <li className={`budget-card ${level}`} data-testid={`budget-${gauge.budget}`}>
      <div className="budget-head">
        <strong dir="auto">{gauge.budget}</strong>
        <span className="muted" dir="auto">{key.pot !== gauge.budget ? `${key.pot} · ` : ''}{key.owner || 'everybody'}{key.start ? ` · from ${key.start.slice(0, 10)}` : ''}</span>
        <span className="grow" />
        {level === 'stop' && <span className="tag bad"><Icon name="blocked" />used up</span>}
        {level === 'warn' && <span className="tag warn"><Icon name="warning" />nearly used</span>}
        <button type="button" onClick={() => setRaising(!raising)}>Raise</button>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? 'Hide rows' : 'Rows'}</button>
      </div>
      <div className="gauge-line"><GaugeBar gauge={gauge} /><span>{gaugeText(gauge)}</span>
        {budget.unknown > 0 && <span className="unknown">{count(budget.unknown)} calls of unknown cost</span>}
        {Number(budget.held) > 0 && <span className="muted">{amountText(key.metric, budget.held)} held</span>}
      </div>
      {raising && <RaiseForm budget={budget} rehearsal={rehearsal} onClose={() => setRaising(false)} onDone={() => { setRaising(false); onChanged() }} />}
      {open && <Rows budget={budget} rehearsal={rehearsal} />}
    </li>
  )
}

function RaiseForm({ budget, rehearsal, onClose, onDone }: { budget: BudgetInfo; rehearsal: boolean; onClose(): void; onDone(): void }) {
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

function Rows({ budget, rehearsal }: { budget: BudgetInfo; rehearsal: boolean }) {
  const { key } = budget
  const loaded = useLoad(() => api.ledger({
    pot: key.pot, ...(key.start ? { since: key.start } : {}), ...(key.period === 'run' ? { run: key.owner } : key.period === 'session' ? { session: key.owner } : {}), limit: 500,
    rehearsal,
  }), JSON.stringify(key))
  if (loaded.error !== null) return <Failure error={loaded.error} retry={loaded.reload} />
  const rows = loaded.data?.rows ?? []
  if (loaded.data && !rows.length) return <p className="muted pad">No rows yet.</p>
  return (
    <div className="budget-rows">
      <Burn points={burn(rows, key.metric)} metric={key.metric} limit={limitOf(budget)} threshold={budget.threshold_pct} start={key.start} end={budget.resets_at} />
      <div className="share-bars">
        {(['flow_id', 'model', 'purpose'] as const).map((by) => <ShareBar key={by} rows={rows} metric={key.metric} by={by} />)}
      </div>
      <LedgerTable rows={rows} />
      {loaded.data?.next && <p className="muted">The first {count(rows.length)} rows of the period are shown.</p>}
    </div>
  )
}

function ShareBar({ rows, metric, by }: { rows: readonly LedgerRow[]; metric: string; by: 'flow_id' | 'model' | 'purpose' }) {
  const all = shares(rows, metric, by)
  const total = all.reduce((sum, each) => sum + each.amount, 0)
  if (!total) return null
  return (
    <div className="share">
      <span className="share-name">by {by.replace('_id', '')}</span>
      <div className="share-bar" role="img" aria-label={all.map((each) => `${each.name} ${amountText(metric, each.amount)}`).join(', ')}>{all.map((each, i) => <span key={each.name} data-part={i} style={{ width: `${(each.amount / total) * 100}%` }} />)}</div>
      <ul>{all.map((each, i) => <li key={each.name}><span className="bill-key" data-part={i} /><span dir="auto">{each.name}</span> <span className="num">{amountText(metric, each.amount, true)}</span></li>)}</ul>
    </div>
  )
}

function LedgerTable({ rows }: { rows: readonly LedgerRow[] }) {
  return (
    <div className="table-box short" tabIndex={0} role="region" aria-label="Ledger rows">
      <table className="table">
        <thead><tr><th>Time</th><th>Purpose</th><th>Node</th><th>Model</th><th>Status</th><th className="num">Tokens</th><th className="num">Cost</th><th>Who or why</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td>{instant(row.at)}</td>
              <td>{row.purpose ?? row.kind}</td>
              <td>{row.run_id ? <Link href={to.run(row.run_id)} dir="auto">{row.node_id ?? 'run'}</Link> : row.node_id}</td>
              <td>{row.model}</td>
              <td>{stateOfRow(row)}</td>
              {isUse(row) ? (
                <>
                  <td className="num">{count(amountOfRow(row, 'tokens'))}</td>
                  <td className={row.cost === null ? 'num unknown' : 'num'} title={sourceText(row.cost_source)}>{row.cost_source === 'estimate' && row.cost !== null && <span className="muted">estimated </span>}{fixedDollars(nanosOf(row.cost))}</td>
                </>
              ) : <td className="num muted" colSpan={2}>{row.amount === null ? '' : `${row.kind === 'hold' ? 'estimate ' : ''}${amountText(row.metric ?? 'tokens', row.amount)}`}</td>}
              <td dir="auto">{[row.actor, row.reason].filter(Boolean).join(': ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

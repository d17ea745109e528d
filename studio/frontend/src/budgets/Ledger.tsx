// What a counter counted: over time, by what spent it, and row by row, the newest first.
import { useEffect, useState } from 'react'
import { api } from '../api/client'
import type { BudgetInfo, LedgerRow } from '../api/types'
import { Failure } from '../app/Failure'
import { Link } from '../app/Link'
import { to } from '../app/router'
import { useLoad } from '../app/useLoad'
import { amountText, count, fixedDollars, nanosOf } from '../lib/money'
import { instant } from '../lib/time'
import { marksOf } from './axes'
import { Burn } from './Burn'
import { amountOfRow, burn, changes, isUse, limitSteps, merged, periodEnd, rowsOf, shares, sourceText, stateOfRow, usedBefore } from './rows'

const PAGE = 500

const MOST_CHANGES = 1000

/** Every raise and reset, those of earlier periods too: however few rows are shown, the limit's line has all its steps. */
function useChanges({ key, limit, used }: BudgetInfo, rehearsal: boolean): readonly LedgerRow[] {
  const loaded = useLoad(() => api.ledger({ pot: key.pot, kinds: 'raise,reset', order: 'newest', limit: MOST_CHANGES, rehearsal }), `${JSON.stringify(key)}|${rehearsal}|${limit}|${used}`)
  return loaded.data?.rows ?? []
}

/** The newest rows, again whenever the counter changes; older ones are put to them as they are asked for. */
function useRows(budget: BudgetInfo, rehearsal: boolean) {
  const ask = (before?: number) => api.ledger({ ...rowsOf(budget), order: 'newest', before, limit: PAGE, rehearsal })
  const loaded = useLoad(() => ask(), `${JSON.stringify(budget.key)}|${rehearsal}|${budget.used}|${budget.held}|${budget.limit}`)
  const [rows, setRows] = useState<LedgerRow[]>([])
  const [next, setNext] = useState<number | null | undefined>(undefined)
  const [flows, setFlows] = useState<Record<string, string>>({})
  const [error, setError] = useState<unknown>(null)
  const { data } = loaded
  useEffect(() => {
    if (!data) return
    setRows((known) => merged(known, data.rows))
    setFlows((known) => ({ ...known, ...data.flows }))
    setNext((known) => (known === undefined ? data.next : known))
  }, [data])
  const older = () => {
    if (next) ask(next).then((page) => { setRows((known) => merged(known, page.rows)); setFlows((known) => ({ ...known, ...page.flows })); setNext(page.next) }, setError)
  }
  return { rows, flows, next: next ?? null, ready: next !== undefined, error: loaded.error ?? error, retry: () => { setError(null); loaded.reload() }, older }
}

export function Rows({ budget, rehearsal }: { budget: BudgetInfo; rehearsal: boolean }) {
  const { rows, flows, next, ready, error, retry, older } = useRows(budget, rehearsal)
  const limits = useChanges(budget, rehearsal)
  const { key } = budget
  if (error !== null) return <Failure error={error} retry={retry} />
  if (!ready) return null
  if (!rows.length) return <p className="muted pad">No rows yet.</p>
  // On one pot others may count as well, and be raised and reset apart.
  const own = rows.filter((row) => (row.kind !== 'raise' && row.kind !== 'reset') || changes(row, key))
  const before = usedBefore(own, budget, next === null)
  return (
    <div className="budget-rows">
      <Burn points={burn(own, key.metric, before)} marks={marksOf(limits, key)} before={before} metric={key.metric} limits={limitSteps(limits, budget)} threshold={budget.threshold_pct}
        start={key.start} end={periodEnd(key.period, key.start)} />
      <div className="share-bars">
        {(['flow_id', 'model', 'purpose'] as const).map((by) => <ShareBar key={by} rows={rows} metric={key.metric} by={by} names={by === 'flow_id' ? flows : {}} />)}
      </div>
      <LedgerTable rows={own} />
      {next !== null && <p className="muted">The newest {count(rows.length)} rows are shown. <button type="button" onClick={older}>Older rows</button></p>}
    </div>
  )
}

function ShareBar({ rows, metric, by, names }: { rows: readonly LedgerRow[]; metric: string; by: 'flow_id' | 'model' | 'purpose'; names: Readonly<Record<string, string>> }) {
  const all = shares(rows, metric, by, names)
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

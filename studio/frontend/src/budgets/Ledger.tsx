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
import { amountOfRow, burn, isUse, limitOf, merged, periodEnd, rowsOf, shares, sourceText, stateOfRow, usedBefore } from './rows'

const PAGE = 500

/** The newest rows, again whenever the counter changes; older ones are put to them as they are asked for. */
function useRows(budget: BudgetInfo, rehearsal: boolean) {
  const ask = (before?: number) => api.ledger({ ...rowsOf(budget), order: 'newest', before, limit: PAGE, rehearsal })
  const loaded = useLoad(() => ask(), `${JSON.stringify(budget.key)}|${rehearsal}|${budget.used}|${budget.held}|${budget.limit}`)
  const [rows, setRows] = useState<LedgerRow[]>([])
  const [next, setNext] = useState<number | null | undefined>(undefined)
  const [error, setError] = useState<unknown>(null)
  const { data } = loaded
  useEffect(() => {
    if (!data) return
    setRows((known) => merged(known, data.rows))
    setNext((known) => (known === undefined ? data.next : known))
  }, [data])
  const older = () => {
    if (next) ask(next).then((page) => { setRows((known) => merged(known, page.rows)); setNext(page.next) }, setError)
  }
  return { rows, next: next ?? null, ready: next !== undefined, error: loaded.error ?? error, retry: () => { setError(null); loaded.reload() }, older }
}

export function Rows({ budget, rehearsal }: { budget: BudgetInfo; rehearsal: boolean }) {
  const { rows, next, ready, error, retry, older } = useRows(budget, rehearsal)
  const { key } = budget
  if (error !== null) return <Failure error={error} retry={retry} />
  if (!ready) return null
  if (!rows.length) return <p className="muted pad">No rows yet.</p>
  const before = usedBefore(rows, budget, next === null)
  return (
    <div className="budget-rows">
      <Burn points={burn(rows, key.metric, before)} marks={marksOf(rows, key)} before={before} metric={key.metric} limit={limitOf(budget)} threshold={budget.threshold_pct}
        start={key.start} end={periodEnd(key.period, key.start)} />
      <div className="share-bars">
        {(['flow_id', 'model', 'purpose'] as const).map((by) => <ShareBar key={by} rows={rows} metric={key.metric} by={by} />)}
      </div>
      <LedgerTable rows={rows} />
      {next !== null && <p className="muted">The newest {count(rows.length)} rows are shown. <button type="button" onClick={older}>Older rows</button></p>}
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

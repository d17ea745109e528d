// Spend by flow, model, user, purpose or day.
import { useState } from 'react'
import { api } from '../api/client'
import type { SpendLine } from '../api/types'
import { Failure } from '../app/Failure'
import { HiddenRehearsals } from '../app/HiddenRehearsals'
import { useLoad } from '../app/useLoad'
import { count, fixedDollars, nanosOf } from '../lib/money'
import { words } from '../lib/text'

const BY = ['flow', 'model', 'user', 'purpose', 'day']

export const groupText = (line: SpendLine, flows: Record<string, string>) => Object.values(line.group).map((each) => (each === null ? 'nobody' : flows[each] ?? each)).join(' · ')

export function Spend({ user, rehearsal }: { user: string; rehearsal: boolean }) {
  const [by, setBy] = useState('flow')
  const loaded = useLoad(() => api.spend({ by, user: user || undefined, rehearsal: rehearsal || undefined }), `${by}|${user}|${rehearsal}`)
  const lines = loaded.data?.lines ?? []
  const most = Math.max(1, ...lines.map((line) => nanosOf(line.cost) ?? 0))
  const totals = loaded.data?.totals
  return (
    <section className="spend" aria-label="Spend">
      <header className="page-head">
        <h2>Spend</h2>
        <div className="segments" role="group" aria-label="Spend by">{BY.map((each) => <button key={each} type="button" aria-pressed={by === each} onClick={() => setBy(each)}>{words(each)}</button>)}</div>
      </header>
      {loaded.error !== null && <Failure error={loaded.error} retry={loaded.reload} />}
      {loaded.data && !lines.length && <p className="muted">Nothing was spent{rehearsal ? '' : ' on real models'} yet.</p>}
      {loaded.data && !lines.length && !rehearsal && <HiddenRehearsals what={['call', 'calls']} load={() => api.spend({ by: 'flow', rehearsal: true }).then((all) => all.totals.calls)} />}
      {lines.length > 0 && (
        <div className="table-box" tabIndex={0} role="region" aria-label="Spend table">
          <table className="table">
            <thead><tr><th>{words(by)}</th><th className="num">Calls</th><th className="num">Input</th><th className="num">Cached</th><th className="num">Output</th><th className="num">Cost</th><th className="spend-col"><span className="hear">Share</span></th></tr></thead>
            <tbody>
              {lines.map((line, i) => {
                const cost = nanosOf(line.cost)
                return (
                  <tr key={i}>
                    <td dir="auto">{groupText(line, loaded.data?.flows ?? {})}</td><td className="num">{count(line.calls)}</td><td className="num">{count(line.usage.input ?? 0)}</td><td className="num">{count(line.usage.cached ?? 0)}</td><td className="num">{count(line.usage.output ?? 0)}</td>
                    <td className={cost === null ? 'num unknown' : 'num'}>{line.unknown && cost !== null ? '≥ ' : ''}{fixedDollars(cost)}</td>
                    <td className="spend-col"><span className={line.unknown ? 'spend-bar some-unknown' : 'spend-bar'} style={{ width: `${((cost ?? 0) / most) * 100}%` }} />{line.estimated > 0 && <span className="muted"> {count(line.estimated)} estimated</span>}</td>
                  </tr>
                )
              })}
            </tbody>
            {totals && <tfoot><tr><th>All</th><td className="num">{count(totals.calls)}</td><td className="num">{count(totals.usage.input ?? 0)}</td><td className="num">{count(totals.usage.cached ?? 0)}</td><td className="num">{count(totals.usage.output ?? 0)}</td><td className="num">{totals.unknown ? 'at least ' : ''}{fixedDollars(nanosOf(totals.cost))}</td><td /></tr></tfoot>}
          </table>
        </div>
      )}
    </section>
  )
}

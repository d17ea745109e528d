// What was used and what is left: every counter, what spent it, and its rows; then spend by flow, model, user, day.
import { useEffect, useState } from 'react'
import { api } from '../api/client'
import type { BudgetInfo } from '../api/types'
import { Failure } from '../app/Failure'
import { Link } from '../app/Link'
import { useLoad } from '../app/useLoad'
import { count } from '../lib/money'
import { useCatalog } from '../state/catalog'
import { useUi } from '../state/ui'
import { BudgetCard } from './BudgetCard'
import { Spend } from './Spend'

export function BudgetsPage() {
  const me = useCatalog((s) => s.me)
  const rehearsals = useUi((s) => s.rehearsals)
  const set = useUi((s) => s.set)
  const [user, setUser] = useState('')
  const [past, setPast] = useState(false)
  const loaded = useLoad(() => api.budgets({ user: user || undefined, rehearsal: rehearsals || undefined }), `${user}|${rehearsals}`)
  // What a raise answered is shown at once, until all are read again.
  const [raised, setRaised] = useState<Record<string, BudgetInfo>>({})
  useEffect(() => setRaised({}), [loaded.data])
  const changed = (after: BudgetInfo) => {
    setRaised((now) => ({ ...now, [JSON.stringify(after.key)]: after }))
    loaded.reload()
    void useCatalog.getState().refreshMe()
  }
  const all = (loaded.data?.budgets ?? []).map((each) => raised[JSON.stringify(each.key)] ?? each)
  const shown = all.filter((each) => past || each.current)
  return (
    <main className="page wide">
      <header className="page-head">
        <h1>Budgets</h1>
        <span className="grow" />
        {me?.role === 'operator' && <label className="row-label"><span>User</span><input value={user} placeholder="everybody" onChange={(e) => setUser(e.target.value)} /></label>}
        <label className="check"><input type="checkbox" checked={past} onChange={(e) => setPast(e.target.checked)} /><span>Past periods</span></label>
        <label className="check"><input type="checkbox" checked={rehearsals} onChange={(e) => set({ rehearsals: e.target.checked })} /><span>Rehearsals</span></label>
      </header>
      {loaded.error !== null && <Failure error={loaded.error} retry={loaded.reload} />}
      {loaded.data && !shown.length && (
        <div className="empty-state">
          <h2>{all.length ? 'No budget of this period was used yet' : 'No budget was used yet'}</h2>
          <p>Attach a Budget to an agent and run the flow: its gauge appears here. {all.length > 0 ? `${count(all.length)} of past periods are hidden.` : ''}</p>
          <Link href="/" className="button primary">Open a flow</Link>
        </div>
      )}
      <ul className="budget-cards">{shown.map((budget: BudgetInfo) => <BudgetCard key={JSON.stringify(budget.key)} budget={budget} rehearsal={rehearsals} onChanged={changed} />)}</ul>
      <Spend user={user} rehearsal={rehearsals} />
    </main>
  )
}

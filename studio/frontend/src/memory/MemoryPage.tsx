// Facts by shelf: what is known, where it came from, how sure it is, and what it was before.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact, ShelfInfo, ShelfKey } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { Link } from '../app/Link'
import { useLoad } from '../app/useLoad'
import { plural } from '../lib/text'
import { useCatalog } from '../state/catalog'
import { useUi } from '../state/ui'
import { FactLine } from './FactLine'
import { Forgotten } from './ForgetDialog'
import { NewFact } from './NewFact'

const shelfId = (shelf: ShelfKey) => `${shelf.namespace}\n${shelf.scope}\n${shelf.owner}`

export function MemoryPage() {
  const me = useCatalog((s) => s.me)
  const rehearsals = useUi((s) => s.rehearsals)
  const set = useUi((s) => s.set)
  const [user, setUser] = useState('')
  const [chosen, setChosen] = useState<string | null>(null)
  const [text, setText] = useState('')
  const [adding, setAdding] = useState(false)
  const [lately, setLately] = useState<readonly Fact[]>([])
  const loaded = useLoad(() => api.facts({ user: user || undefined, rehearsal: rehearsals || undefined }), `${user}|${rehearsals}`)
  const shelves = loaded.data?.shelves ?? []
  const shelf = shelves.find((each) => shelfId(each) === chosen) ?? shelves[0] ?? null
  const one = useLoad(
    () => (shelf ? api.facts({ namespace: shelf.namespace, scope: shelf.scope, ...(shelf.scope === 'session' ? { session: shelf.owner } : { user: shelf.owner }), rehearsal: rehearsals || undefined }) : Promise.resolve({ shelves: [], facts: [] })),
    `${shelf ? shelfId(shelf) : ''}|${rehearsals}`,
  )
  const wanted = text.trim().toLowerCase()
  const facts = (one.data?.facts ?? []).filter((fact) => shelf && shelfId(fact.shelf) === shelfId(shelf) && (!wanted || `${fact.key} ${JSON.stringify(fact.value)}`.toLowerCase().includes(wanted)))
  // The last fact of a shelf takes the shelf with it, so that what was forgotten is shown beside any.
  const here = lately.filter((fact) => !facts.some((each) => each.key === fact.key && shelfId(each.shelf) === shelfId(fact.shelf)))
  const without = (fact: Fact) => lately.filter((each) => each.key !== fact.key || shelfId(each.shelf) !== shelfId(fact.shelf))
  const changed = () => { one.reload(); loaded.reload() }
  return (
    <main className="page split">
      <nav className="shelves" aria-label="Shelves">
        <h1>Memory</h1>
        {me?.role === 'operator' && <label className="stack"><span>User</span><input value={user} placeholder="everybody" onChange={(e) => setUser(e.target.value)} /></label>}
        <label className="check"><input type="checkbox" checked={rehearsals} onChange={(e) => { set({ rehearsals: e.target.checked }); setLately([]) }} /><span>Rehearsals</span></label>
        <ul>
          {shelves.map((each) => (
            <li key={shelfId(each)}>
              <button type="button" aria-current={shelf && shelfId(each) === shelfId(shelf) ? 'true' : undefined} onClick={() => { setChosen(shelfId(each)); setAdding(false) }}>
                <strong dir="auto">{each.owner}</strong><span className="muted" dir="auto">{each.namespace} · {each.scope}</span><span className="badge">{each.count}</span>
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <section className="facts-list" aria-label="Facts">
        {(loaded.error ?? one.error) !== null && <Failure error={loaded.error ?? one.error} retry={changed} />}
        {loaded.data && !shelves.length && (
          <div className="empty-state"><h2>Nothing is remembered yet</h2><p>Attach a Memory to an agent, run the flow, and tell it something that will still be true next week.</p><Link href="/" className="button primary">Open a flow</Link></div>
        )}
        {here.length > 0 && <Forgotten facts={here} rehearsal={rehearsals} onBack={(fact) => { setLately(without(fact)); changed() }} />}
        {shelf && (
          <>
            <ShelfHead shelf={shelf} shown={facts.length} text={text} onText={setText} onAdd={() => setAdding(true)} />
            {adding && <NewFact shelf={shelf} rehearsal={rehearsals} onClose={() => setAdding(false)} onSaved={() => { setAdding(false); changed() }} />}
            <ul className="fact-lines">{facts.map((fact: Fact) => <FactLine key={`${fact.key}\n${fact.version}\n${fact.state}`} fact={fact} rehearsal={rehearsals} onChanged={changed} onForgotten={(gone) => { setLately([...without(gone), gone]); changed() }} />)}</ul>
            {one.data && !facts.length && <p className="muted pad">{wanted ? `No fact matches “${text}”.` : 'This shelf is empty.'}</p>}
          </>
        )}
      </section>
    </main>
  )
}

function ShelfHead({ shelf, shown, text, onText, onAdd }: { shelf: ShelfInfo; shown: number; text: string; onText(text: string): void; onAdd(): void }) {
  return (
    <header className="page-head">
      <div><h2 dir="auto">{shelf.owner}</h2><p className="muted">{shelf.scope === 'user' ? 'Follows this user across sessions' : <>Belongs to <Link href={`/sessions/${encodeURIComponent(shelf.owner)}`}>one session</Link></>} · {shelf.namespace} · {plural(shown, 'fact')}</p></div>
      <span className="grow" />
      <div className="search-box narrow"><Icon name="search" /><input type="search" value={text} placeholder="Find a fact" aria-label="Find a fact" onChange={(e) => onText(e.target.value)} /></div>
      <button type="button" className="primary" onClick={onAdd}><Icon name="plus" /> Add a fact</button>
    </header>
  )
}

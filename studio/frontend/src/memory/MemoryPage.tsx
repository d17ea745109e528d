// Facts by shelf: what is known, where it came from, how sure it is, what it was before, and what a model would see of it.
import { useState } from 'react'
import { api } from '../api/client'
import type { Fact, ShelfInfo, ShelfKey } from '../api/types'
import { Failure } from '../app/Failure'
import { HiddenRehearsals } from '../app/HiddenRehearsals'
import { Icon } from '../app/icons'
import { Link } from '../app/Link'
import { to } from '../app/router'
import { useLater, useLoad } from '../app/useLoad'
import { count } from '../lib/money'
import { plural, shortName } from '../lib/text'
import { useCatalog } from '../state/catalog'
import { useUi } from '../state/ui'
import { Care } from './Care'
import { againstOf } from './against'
import { Gone } from './Gone'
import { FactLine } from './FactLine'
import { Forgotten } from './ForgetDialog'
import { MoveDialog } from './MoveDialog'
import { NewFact } from './NewFact'
import { RecallPanel } from './RecallPanel'

const shelfId = (shelf: ShelfKey) => `${shelf.namespace}\n${shelf.scope}\n${shelf.owner}`
/** A session by its name, a user by the id. */
const ownerOf = (shelf: ShelfInfo) => (shelf.session ? shortName(shelf.session) : shelf.owner)
const PAGE = 200
type View = 'facts' | 'recall' | 'care'
const VIEWS: [View, string][] = [['facts', 'Facts'], ['recall', 'As a model sees it'], ['care', 'Consolidate']]

export function MemoryPage() {
  const me = useCatalog((s) => s.me)
  const rehearsals = useUi((s) => s.rehearsals)
  const set = useUi((s) => s.set)
  const [user, setUser] = useState('')
  const [find, setFind] = useState('')
  const [chosen, setChosen] = useState<string | null>(null)
  const [view, setView] = useState<View>('facts')
  const [lately, setLately] = useState<readonly Fact[]>([])
  const askedUser = useLater(user, 200)
  const askedFind = useLater(find, 200)
  const loaded = useLoad(() => api.facts({ user: askedUser || undefined, find: askedFind || undefined, limit: 0, rehearsal: rehearsals || undefined }), `${askedUser}|${askedFind}|${rehearsals}`)
  const shelves = loaded.data?.shelves ?? []
  const shelf = shelves.find((each) => shelfId(each) === chosen) ?? shelves[0] ?? null
  const without = (fact: Fact) => lately.filter((each) => each.key !== fact.key || shelfId(each.shelf) !== shelfId(fact.shelf))
  return (
    <main className="page split">
      <nav className="shelves" aria-label="Shelves">
        <h1>Memory</h1>
        <div className="search-box"><Icon name="search" /><input type="search" value={find} placeholder="Find a shelf" aria-label="Find a shelf" onChange={(e) => setFind(e.target.value)} /></div>
        {me?.role === 'operator' && <label className="stack"><span>User</span><input value={user} placeholder="everybody" onChange={(e) => setUser(e.target.value)} /></label>}
        <label className="check"><input type="checkbox" checked={rehearsals} onChange={(e) => { set({ rehearsals: e.target.checked }); setLately([]) }} /><span>Rehearsals</span></label>
        <ul>
          {shelves.map((each) => (
            <li key={shelfId(each)}>
              <button type="button" aria-current={shelf && shelfId(each) === shelfId(shelf) ? 'true' : undefined} onClick={() => setChosen(shelfId(each))}>
                <strong dir="auto" title={each.owner}>{ownerOf(each)}</strong><span className="muted" dir="auto" title={each.namespace}>{each.flow ?? each.namespace} · {each.scope}</span><span className="badge">{each.count}</span>
              </button>
            </li>
          ))}
        </ul>
        {(loaded.data?.shelves_left_out ?? 0) > 0 && <p className="muted pad">and {count(loaded.data!.shelves_left_out!)} more: find one by its name.</p>}
      </nav>
      <section className="facts-list" aria-label="Facts">
        {loaded.error !== null && <Failure error={loaded.error} retry={loaded.reload} />}
        {loaded.data && !shelves.length && (
          <div className="empty-state">{find || user ? <><h2>No shelf matches</h2><button type="button" onClick={() => { setFind(''); setUser('') }}>Show all</button></>
            : <><h2>Nothing is remembered yet</h2>{!rehearsals && <HiddenRehearsals what={['fact', 'facts']} load={() => api.facts({ limit: 0, rehearsal: true }).then((all) => all.left_out ?? 0)} />}<p>Attach a Memory to an agent, run the flow, and tell it something that will still be true next week.</p><Link href="/" className="button primary">Open a flow</Link></>}</div>
        )}
        {/* The last fact of a shelf takes the shelf with it, so that what was forgotten is shown beside any. */}
        {lately.length > 0 && <Forgotten facts={lately} rehearsal={rehearsals} onBack={(fact) => { setLately(without(fact)); loaded.reload() }} />}
        {shelf && (
          <>
            <header className="page-head">
              <div><h2 dir="auto" title={shelf.owner}>{ownerOf(shelf)}</h2><p className="muted">{shelf.scope === 'user' ? 'Follows this user across sessions' : <>Belongs to <Link href={to.session(shelf.owner)}>one session</Link></>} · <span title={shelf.namespace}>{shelf.flow ?? shelf.namespace}</span></p></div>
              <span className="grow" />
              <div role="group" aria-label="View" className="segments">
                {VIEWS.filter(([each]) => each !== 'care' || shelf.scope === 'user').map(([each, label]) => <button key={each} type="button" aria-pressed={view === each} onClick={() => setView(each)}>{label}</button>)}
              </div>
            </header>
            {view === 'recall' ? <RecallPanel key={shelfId(shelf)} shelf={shelf} rehearsal={rehearsals} />
              : view === 'care' && shelf.scope === 'user' ? <Care key={shelf.owner} user={shelf.owner} rehearsal={rehearsals} operator={me?.role === 'operator'} onChanged={loaded.reload} />
                : <Facts key={shelfId(shelf)} shelf={shelf} rehearsal={rehearsals} lately={lately} onChanged={loaded.reload} onForgotten={(gone) => { setLately([...without(gone), gone]); loaded.reload() }} />}
          </>
        )}
      </section>
    </main>
  )
}

interface FactsProps {
  shelf: ShelfInfo
  rehearsal: boolean
  lately: readonly Fact[]
  onChanged(): void
  onForgotten(fact: Fact): void
}

function Facts({ shelf, rehearsal, lately, onChanged, onForgotten }: FactsProps) {
  const [text, setText] = useState('')
  const [then, setThen] = useState('')
  const [adding, setAdding] = useState(false)
  const [moving, setMoving] = useState(false)
  const [shown, setShown] = useState(PAGE)
  const late = useLater(text.trim(), 200)
  const lateThen = useLater(then, 200)
  const asOf = lateThen ? new Date(`${lateThen}Z`) : null
  const question = { namespace: shelf.namespace, scope: shelf.scope, owner: shelf.owner, text: late || undefined, as_of: asOf && !Number.isNaN(asOf.getTime()) ? asOf.toISOString() : undefined, rehearsal: rehearsal || undefined, limit: shown }
  // What was forgotten or put back changes the count, and with it what is asked.
  const one = useLoad(() => api.facts(question), `${JSON.stringify(question)}|${shelf.count}|${lately.length}`)
  const facts = one.data?.facts ?? []
  const past = !!question.as_of
  const apart = past ? [] : (one.data?.apart ?? [])
  const conflicts = apart.filter((each) => each.state === 'conflict')
  const alone = conflicts.filter((each) => !facts.some((fact) => fact.key === each.key))
  const marks = past ? [] : (one.data?.marks ?? [])
  const changed = () => { one.reload(); onChanged() }
  const find = (key: string) => {
    const shown = document.querySelector<HTMLElement>(`[data-fact="${CSS.escape(key)}"]`)
    if (!shown) return setText(key)
    shown.scrollIntoView({ block: 'center' })
    shown.focus()
  }
  return (
    <>
      <div className="facts-bar">
        <div className="search-box narrow"><Icon name="search" /><input type="search" value={text} placeholder="Find a fact" aria-label="Find a fact" onChange={(e) => setText(e.target.value)} /></div>
        <label className="row-label"><span>As of (UTC)</span><input type="datetime-local" className="as-of" value={then} onChange={(e) => setThen(e.target.value)} /></label>
        {past && <button type="button" onClick={() => setThen('')}>Now</button>}
        <span className="grow" />
        {!past && <button type="button" onClick={() => setMoving(true)} disabled={!facts.length}>Move…</button>}
        {!past && <button type="button" className="primary" onClick={() => setAdding(true)}><Icon name="plus" /> Add a fact</button>}
      </div>
      {past && <p className="notice-line" role="status">As it was then; what was erased since is gone from here too. Nothing can be changed in the past.</p>}
      {one.error !== null && <Failure error={one.error} retry={one.reload} />}
      {adding && <NewFact shelf={shelf} rehearsal={rehearsal} onClose={() => setAdding(false)} onSaved={() => { setAdding(false); changed() }} />}
      <ul className="fact-lines">
        {facts.map((fact) => <FactLine key={`${fact.key}\n${fact.version}\n${fact.state}`} fact={fact} past={past} rehearsal={rehearsal} conflicts={conflicts.filter((each) => each.key === fact.key)} against={againstOf(fact, marks, facts)} onFind={find} onChanged={changed} onForgotten={onForgotten} />)}
        {alone.map((fact) => <FactLine key={`${fact.key}\n${fact.version}\n${fact.state}`} fact={fact} past={false} rehearsal={rehearsal} conflicts={[fact]} onChanged={changed} onForgotten={onForgotten} />)}
      </ul>
      {one.data?.next && <button type="button" onClick={() => setShown(shown + 5 * PAGE)}>Show more</button>}
      {one.data && !facts.length && !alone.length && <p className="muted pad">{late ? `No fact matches “${late}”.` : past ? 'Nothing was remembered then.' : 'This shelf is empty.'}</p>}
      {one.data && facts.length > 0 && <p className="muted">{plural(facts.length, 'fact')}</p>}
      {!past && <Gone facts={apart.filter((each) => each.state !== 'conflict')} rehearsal={rehearsal} onChanged={changed} />}
      {moving && <MoveDialog shelf={shelf} keys={[]} rehearsal={rehearsal} onClose={() => setMoving(false)} onMoved={() => { setMoving(false); changed() }} />}
    </>
  )
}

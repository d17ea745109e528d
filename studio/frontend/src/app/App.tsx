// Routes and the frame around them.
import { useEffect, useRef, useState } from 'react'
import { api, whenUnauthorized } from '../api/client'
import { FlowPage } from '../flows/FlowPage'
import { FlowsPage } from '../flows/FlowsPage'
import { BudgetsPage } from '../budgets/BudgetsPage'
import { MemoryPage } from '../memory/MemoryPage'
import { RunRedirect, SessionPage } from '../sessions/SessionPage'
import { SessionsPage } from '../sessions/SessionsPage'
import { SettingsPage } from '../settings/SettingsPage'
import { useCatalog } from '../state/catalog'
import { applyTheme, useUi } from '../state/ui'
import { Failure, Guard, Locked } from './Failure'
import { Help } from './Help'
import { Notice } from './Notice'
import { Rail } from './Rail'
import { type Route, routeOf, useAddress } from './router'
import { Link } from './Link'


/** The token in the fragment is taken out of the address before anything else is done with it. */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token) history.replaceState(null, '', location.pathname + location.search)
  return token
}

type Door = 'opening' | 'open' | 'locked' | 'used'

export function App({ token: first }: { token: string | null }) {
  const [token, setToken] = useState(first)
  const [door, setDoor] = useState<Door>('opening')
  const wasIn = useRef(false)
  if (door === 'open') wasIn.current = true
  const theme = useUi((s) => s.theme)
  const error = useCatalog((s) => s.error)
  const load = useCatalog((s) => s.load)
  const route = routeOf(useAddress())

  useEffect(() => applyTheme(theme), [theme])
  useEffect(() => {
    // A fresh link followed in this tab changes the fragment and loads nothing.
    const follow = () => {
      const fresh = takeToken()
      if (!fresh) return
      setDoor('opening')
      setToken(fresh)
    }
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  useEffect(() => {
    let used = false
    whenUnauthorized(() => setDoor(used ? 'used' : 'locked'))
    const begin = async () => {
      if (token) {
        try {
          await api.exchange(token)
        } catch {
          used = true // an earlier cookie may still hold; /me says
        }
      }
      await load()
      setDoor((now) => (now === 'opening' ? 'open' : now))
    }
    void begin()
  }, [token, load])

  if (door === 'locked' || door === 'used') return <Locked bad={door === 'used'} left={wasIn.current} />
  if (door === 'opening') return <main className="opening" aria-busy="true"><p className="muted">Opening…</p></main>
  if (error) return <main className="page"><Failure error={new Error(error)} retry={() => void load()} /></main>
  return (
    <>
      <div className="frame">
        <Rail page={route.page} />
        <Guard place={route.page}><Page route={route} /></Guard>
      </div>
      <Help />
      <Notice />
    </>
  )
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case 'flows': return <FlowsPage />
    // One page for all three: a first save changes the address, and what is on the canvas stays as it is.
    case 'flow': case 'example': case 'new':
      return <FlowPage path={route.page === 'flow' ? route.path : undefined} example={route.page === 'example' ? route.name : undefined} />
    case 'sessions': return <SessionsPage />
    case 'session': return <SessionPage key={route.uid} uid={route.uid} run={route.run} seq={route.seq} />
    case 'run': return <RunRedirect id={route.id} />
    case 'memory': return <MemoryPage />
    case 'budgets': return <BudgetsPage />
    case 'settings': return <SettingsPage />
    default: return <main className="page"><h1>There is no such page</h1><p><Link href="/">Go to the flows</Link></p></main>
  }
}

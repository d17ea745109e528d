// Under the canvas: talk to the flow, see what it did, what is wrong with it, and every event.
import type { ReactNode } from 'react'
import { Icon } from '../app/icons'
import { useRun } from '../state/run'
import { type DrawerTab, useUi } from '../state/ui'
import { isError, useValidation } from '../state/validation'
import { Chat } from './Chat'
import { Events } from './Events'
import { Problems } from './Problems'
import { TimelineTab } from './TimelineTab'
import { WhoAndWhere } from './WhoAndWhere'

const PANELS: Record<DrawerTab, { label: string; panel: () => ReactNode }> = {
  chat: { label: 'Chat', panel: Chat },
  timeline: { label: 'Timeline', panel: TimelineTab },
  problems: { label: 'Problems', panel: Problems },
  events: { label: 'Events', panel: Events },
}
const TABS = Object.keys(PANELS) as DrawerTab[]

export function Drawer() {
  const { tab, drawer, drawerHeight, set } = useUi()
  const problems = useValidation((s) => s.problems)
  const errors = problems.filter(isError).length
  const events = useRun((s) => s.events.length)
  const Panel = PANELS[tab].panel
  const keys = (event: React.KeyboardEvent) => {
    if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return
    event.preventDefault()
    const next = TABS[(TABS.indexOf(tab) + (event.key === 'ArrowRight' ? 1 : TABS.length - 1)) % TABS.length]!
    set({ tab: next, drawer: true })
    document.getElementById(`tab-${next}`)?.focus()
  }
  return (
    <section className={drawer ? 'drawer' : 'drawer closed'} style={drawer ? { height: drawerHeight } : undefined} aria-label="Drawer">
      <div className="tabs">
        <div role="tablist" aria-label="Drawer" onKeyDown={keys}>
          {TABS.map((each) => (
            <button key={each} id={`tab-${each}`} type="button" role="tab" aria-selected={drawer && tab === each} aria-controls={drawer && tab === each ? 'drawer-panel' : undefined} tabIndex={tab === each ? 0 : -1}
              onClick={() => set(drawer && tab === each ? { drawer: false } : { tab: each, drawer: true })}>
              {PANELS[each].label}
              {each === 'problems' && problems.length > 0 && <span className={errors ? 'badge bad' : 'badge warn'}>{problems.length}</span>}
              {each === 'events' && events > 0 && <span className="badge">{events}</span>}
            </button>
          ))}
        </div>
        <span className="grow" />
        <ConnectionState />
        {drawer && tab === 'chat' && <WhoAndWhere />}
        <button type="button" className="icon-button" onClick={() => set({ drawer: !drawer })} aria-label={drawer ? 'Hide the drawer' : 'Show the drawer'}><Icon name={drawer ? 'down' : 'up'} /></button>
      </div>
      {drawer && <div id="drawer-panel" className="drawer-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}><Panel /></div>}
    </section>
  )
}

export function ConnectionState() {
  const connection = useRun((s) => s.connection)
  const why = useRun((s) => s.connectionWhy)
  if (connection === 'reconnecting') return <span className="connection warn" role="status" title="Nothing is lost: what happens meanwhile is shown once the studio answers."><span className="spin" aria-hidden />Reconnecting…</span>
  if (connection === 'failed') return <span className="connection bad" role="status">Not connected: {why}</span>
  return null
}

// In which session, and for which user, the next run is.
import { api } from '../api/client'
import { Icon } from '../app/icons'
import { useLoad } from '../app/useLoad'
import { here } from '../flows/files'
import { useCatalog } from '../state/catalog'
import { useFlow } from '../state/flow'
import { useLaunch } from '../state/launch'
import { forgetSession } from '../state/resume'
import { useRun } from '../state/run'
import { useUi } from '../state/ui'

export function WhoAndWhere() {
  const { session, user, set } = useLaunch()
  const me = useCatalog((s) => s.me)
  const flowId = useFlow((s) => s.meta.id ?? s.meta.name)
  const running = useRun((s) => s.status === 'running')
  const sessions = useLoad(() => api.sessions({ flow: flowId, limit: 20, rehearsal: me?.model.rehearsal }), `${flowId}|${session}|${running}`)
  const open = (name: string) => {
    set({ session: name })
    const known = sessions.data?.sessions.find((each) => each.name === name)
    if (known) {
      useUi.getState().set({ row: null })
      void useRun.getState().attach(known.uid)
    } else if (name === '') {
      forgetSession(here())
      useRun.getState().leave()
    }
  }
  const known = sessions.data?.sessions ?? []
  return (
    <div className="who">
      <label><span>Session</span>
        <input className="who-session" list="known-sessions" value={session} placeholder="new session" aria-label="Session" disabled={running} onChange={(e) => set({ session: e.target.value })} onBlur={(e) => { if (e.target.value !== useRun.getState().sessionName) open(e.target.value.trim()) }} />
      </label>
      <datalist id="known-sessions">{known.map((each) => <option key={each.uid} value={each.name}>{each.user_id ?? ''}</option>)}</datalist>
      {session && <button type="button" className="icon-button" disabled={running} onClick={() => open('')} title="Begin a new session" aria-label="Begin a new session"><Icon name="plus" /></button>}
      {me?.role === 'operator' && (
        <label><span>User</span><input value={user} placeholder={me.user} aria-label="User" disabled={running} onChange={(e) => set({ user: e.target.value })} /></label>
      )}
    </div>
  )
}

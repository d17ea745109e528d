// After a reload, or in a second tab, a flow shows the session that was at hand here, or one that runs now.
import { api } from '../api/client'
import { useCatalog } from './catalog'
import { useLaunch } from './launch'
import { useRun } from './run'

const key = (place: string) => `farthing.session:${place}`

/** Remember the session at hand for as long as the tab lives. Returns what ends it. */
export function rememberSessions(place: () => string): () => void {
  return useRun.subscribe((s, before) => {
    if (s.session === before.session) return
    try {
      if (s.session) sessionStorage.setItem(key(place()), s.session)
    } catch {
      // A browser that keeps nothing: a reload then begins anew.
    }
  })
}

export function forgetSession(place: string): void {
  try {
    sessionStorage.removeItem(key(place))
  } catch {
    // Nothing was kept.
  }
}

function remembered(place: string): string | null {
  try {
    return sessionStorage.getItem(key(place))
  } catch {
    return null
  }
}

async function running(flow: string): Promise<string | null> {
  const { me } = useCatalog.getState()
  const { sessions } = await api.sessions({ flow, state: 'running', limit: 1, user: me?.user, rehearsal: me?.model.rehearsal })
  return sessions[0]?.uid ?? null
}

export async function resume(place: string, flow: string): Promise<void> {
  try {
    const session = remembered(place) ?? (await running(flow))
    if (!session || useRun.getState().status !== 'idle') return
    await useRun.getState().attach(session)
    const { sessionName, connection } = useRun.getState()
    if (connection === 'failed') {
      forgetSession(place)
      useRun.getState().leave()
    } else useLaunch.getState().set({ session: sessionName })
  } catch {
    // The flow is usable without its last session.
  }
}

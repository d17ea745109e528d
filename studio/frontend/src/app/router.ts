// The page's address, and moving to another without loading. Leaving unsaved work asks first.
import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let here = typeof location === 'undefined' ? '/' : location.pathname + location.search
let guard: (() => boolean) | null = null

function announce(): void {
  here = location.pathname + location.search
  listeners.forEach((listen) => listen())
}

if (typeof window !== 'undefined') addEventListener('popstate', announce)

/** What must agree before a page is left; null removes it. */
export function guardLeaving(ask: (() => boolean) | null): void {
  guard = ask
}

export function go(to: string, replace = false): void {
  if (to === here) return
  if (guard && !guard()) return
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  announce()
}

/** The address changes, the page stays: after a first save, for one. */
export function renameAddress(to: string): void {
  history.replaceState(null, '', to)
  announce()
}

export function useAddress(): string {
  return useSyncExternalStore((listen) => {
    listeners.add(listen)
    return () => listeners.delete(listen)
  }, () => here)
}

export type Route =
  | { page: 'flows' }
  | { page: 'flow'; path: string }
  | { page: 'example'; name: string }
  | { page: 'new' }
  | { page: 'sessions' }
  | { page: 'session'; uid: string; run: string | null; seq: number | null }
  | { page: 'run'; id: string }
  | { page: 'memory' }
  | { page: 'budgets' }
  | { page: 'settings' }
  | { page: 'lost' }

export function routeOf(address: string): Route {
  const [path = '/', search = ''] = address.split('?')
  const parts = path.split('/').filter(Boolean).map(decode)
  const query = new URLSearchParams(search)
  const [first, ...rest] = parts
  const tail = rest.join('/')
  if (!first || (first === 'flows' && !tail)) return { page: 'flows' }
  if (first === 'flows') return { page: 'flow', path: tail }
  if (first === 'new') return { page: 'new' }
  if (first === 'examples') return tail ? { page: 'example', name: tail } : { page: 'flows' }
  if (first === 'sessions' && tail) return { page: 'session', uid: tail, run: query.get('run'), seq: query.has('seq') ? Number(query.get('seq')) : null }
  if (first === 'runs' && tail) return { page: 'run', id: tail }
  if (first === 'sessions' || first === 'memory' || first === 'budgets' || first === 'settings') return { page: first }
  return { page: 'lost' }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const inside = (path: string) => path.split('/').map(encodeURIComponent).join('/')

export const to = {
  flow: (path: string) => `/flows/${inside(path)}`,
  example: (name: string) => `/examples/${encodeURIComponent(name)}`,
  session: (uid: string, run?: string | null) => `/sessions/${encodeURIComponent(uid)}${run ? `?run=${encodeURIComponent(run)}` : ''}`,
  run: (id: string) => `/runs/${encodeURIComponent(id)}`,
}

// Times and durations for people; instants are UTC, as budgets are.

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return ''
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `2026-11-30 02:18:51` */
export function instant(at: string | null | undefined): string {
  return at ? at.slice(0, 19).replace('T', ' ') : ''
}

export function clock(at: string | null | undefined): string {
  return at ? at.slice(11, 19) : ''
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** `resets 00:00 UTC Tuesday`, or empty where a budget never resets. */
export function resets(at: string | null | undefined): string {
  if (!at) return ''
  const when = new Date(at)
  if (Number.isNaN(when.getTime())) return ''
  const soon = when.getTime() - Date.now() < 7 * 86_400_000
  return `resets ${when.toISOString().slice(11, 16)} UTC ${soon ? WEEKDAYS[when.getUTCDay()] : when.toISOString().slice(0, 10)}`
}

export function ago(at: string | null | undefined, now = Date.now()): string {
  if (!at) return ''
  const seconds = Math.round((now - new Date(at).getTime()) / 1000)
  if (!Number.isFinite(seconds)) return ''
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`
  if (seconds < 14 * 86_400) return `${Math.round(seconds / 86_400)} d ago`
  return at.slice(0, 10)
}

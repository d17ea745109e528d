// Where nothing real is to be shown but rehearsals left something, say so and show it at a click.
import { count } from '../lib/money'
import { useUi } from '../state/ui'
import { useLoad } from './useLoad'

export function HiddenRehearsals({ what, load }: { what: [one: string, more: string]; load(): Promise<number> }) {
  const set = useUi((s) => s.set)
  const found = useLoad(load, '').data ?? 0
  if (!found) return null
  return (
    <>
      <p>{count(found)} {what[found === 1 ? 0 : 1]} of rehearsals {found === 1 ? 'is' : 'are'} hidden.</p>
      <button type="button" className="primary" onClick={() => set({ rehearsals: true })}>Show rehearsals</button>
    </>
  )
}

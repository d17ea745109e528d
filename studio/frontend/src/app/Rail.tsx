// The studio's parts, on the left of every page.
import { useUi, type Theme } from '../state/ui'
import { useCatalog } from '../state/catalog'
import { Icon } from './icons'
import { Link } from './Link'

const PARTS = [
  ['/', 'flows', 'Flows', ['flows', 'flow', 'example', 'new']],
  ['/sessions', 'sessions', 'Sessions', ['sessions', 'session', 'run']],
  ['/memory', 'memory', 'Memory', ['memory']],
  ['/budgets', 'budgets', 'Budgets', ['budgets']],
  ['/settings', 'settings', 'Settings', ['settings']],
] as const

const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' }
const THEME_ICON: Record<Theme, string> = { auto: 'auto', light: 'sun', dark: 'moon' }

export function Rail({ page }: { page: string }) {
  const theme = useUi((s) => s.theme)
  const set = useUi((s) => s.set)
  const version = useCatalog((s) => s.me?.version)
  return (
    <nav className="rail" aria-label="Studio">
      <Link href="/" className="brand" title={version ? `Farthing ${version}` : 'Farthing'} aria-label="Farthing, flows">
        <svg viewBox="0 0 24 24" aria-hidden><circle cx="12" cy="12" r="9.2" /><path d="M9.5 17V7.5h5.5M9.5 12h4.2" /></svg>
      </Link>
      {PARTS.map(([href, icon, label, pages]) => (
        <Link key={href} href={href} className="rail-item" aria-current={(pages as readonly string[]).includes(page) ? 'page' : undefined}>
          <Icon name={icon} /><span>{label}</span>
        </Link>
      ))}
      <span className="grow" />
      <button type="button" className="rail-item" onClick={() => set({ help: true })} title="Keyboard shortcuts (?)"><Icon name="help" /><span>Shortcuts</span></button>
      <button type="button" className="rail-item" onClick={() => set({ theme: NEXT[theme] })} title={`Theme: ${theme}`} aria-label={`Theme: ${theme}. Change`}>
        <Icon name={THEME_ICON[theme]} /><span>{theme === 'auto' ? 'Auto' : theme === 'light' ? 'Light' : 'Dark'}</span>
      </button>
    </nav>
  )
}

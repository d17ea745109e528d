// What this person set up for themselves: theme, panels, open tab. Remembered in the browser, nowhere else.
import { create } from 'zustand'

export type Theme = 'auto' | 'light' | 'dark'
export type DrawerTab = 'chat' | 'timeline' | 'problems' | 'events'

interface Saved {
  theme: Theme
  palette: boolean
  inspector: boolean
  drawer: boolean
  drawerHeight: number
  inspectorWidth: number
  paidConfirmed: string[]
  user: string
  rehearsals: boolean
}

interface UiState extends Saved {
  tab: DrawerTab
  help: boolean
  quickAdd: QuickAddAt | null
  /** A node of the flow is looked for. */
  find: boolean
  /** A node to be brought into sight; `near`: so that it can be read. */
  reveal: { id: string; near: boolean } | null
  /** The open end of an edge that is being drawn. */
  wiring: QuickAddAt['from'] | null
  /** A field that should take the focus: `node/field`. */
  focusField: { node: string; field: string } | null
  /** The timeline's selected row, shared with the canvas. */
  row: number | null
  /** How often the whole flow was asked for; the canvas then keeps showing all of it, until it is moved. */
  fitted: number
  toast: { text: string; bad: boolean; id: number } | null
  set(values: Partial<UiState>): void
  say(text: string, bad?: boolean): void
}

export interface QuickAddAt {
  screen: { x: number; y: number }
  /** The place was pointed at; else the new node goes beside the selected one. */
  exact?: boolean
  from?: { node: string; port: string; side: 'inputs' | 'outputs'; kind: string }
}

const KEY = 'farthing.studio'
/** The theme that the shell came with: that of the settings, used until another one is chosen here. */
const START: Theme = themeOf(typeof document === 'undefined' ? undefined : document.documentElement.dataset.theme)
const DEFAULTS: Saved = {
  theme: START, palette: typeof innerWidth !== 'number' || innerWidth >= 1180, inspector: typeof innerWidth !== 'number' || innerWidth >= 900, drawer: true, drawerHeight: typeof innerHeight === 'number' && innerHeight < 800 ? 220 : 280, inspectorWidth: 320, paidConfirmed: [], user: '', rehearsals: false,
}

/** A theme by the word that the settings have for it. */
function themeOf(word: string | undefined): Theme {
  return word === 'light' || word === 'dark' ? word : 'auto'
}

function load(): Saved {
  try {
    const { theme, ...kept } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Omit<Saved, 'theme'>> & { theme?: string }
    // `auto` was written before there was a theme of the settings: nobody chose it against one.
    return { ...DEFAULTS, ...kept, theme: theme === undefined || theme === 'auto' ? START : themeOf(theme) }
  } catch {
    return DEFAULTS
  }
}

let toasts = 0

export const useUi = create<UiState>()((set) => ({
  ...load(),
  tab: 'chat',
  help: false,
  quickAdd: null,
  find: false,
  reveal: null,
  wiring: null,
  focusField: null,
  row: null,
  fitted: 0,
  toast: null,
  set: (values) => set(values),
  say: (text, bad = false) => set({ toast: { text, bad, id: ++toasts } }),
}))

useUi.subscribe((s) => {
  const saved = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, s[name as keyof Saved]]))
  const theme = s.theme === START ? undefined : s.theme === 'auto' ? 'system' : s.theme
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...saved, theme }))
  } catch {
    // A browser that keeps nothing still works; it only forgets.
  }
})

export function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

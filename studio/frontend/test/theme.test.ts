// The theme that the page starts with: that of the settings, until another one is chosen here.
import { afterEach, describe, expect, test, vi } from 'vitest'

/** The page opened anew: what the shell says, and what this browser kept. */
async function opened(shell: string | undefined, kept: Record<string, string>) {
  vi.resetModules()
  vi.stubGlobal('document', { documentElement: { dataset: shell ? { theme: shell } : {} } })
  vi.stubGlobal('localStorage', { getItem: (key: string) => kept[key] ?? null, setItem: (key: string, value: string) => void (kept[key] = value) })
  return (await import('../src/state/ui')).useUi
}

afterEach(() => vi.unstubAllGlobals())

describe('the theme', () => {
  test('is that of the settings until one is chosen, and follows them meanwhile', async () => {
    const kept: Record<string, string> = {}
    const ui = await opened('dark', kept)
    expect(ui.getState().theme).toBe('dark')
    ui.getState().set({ palette: false })
    expect((await opened('light', kept)).getState().theme).toBe('light')
    expect((await opened(undefined, kept)).getState().theme).toBe('auto')
  })

  test('is the one chosen here, whatever the settings say', async () => {
    for (const theme of ['auto', 'light'] as const) {
      const kept: Record<string, string> = {}
      ;(await opened('dark', kept)).getState().set({ theme })
      expect((await opened('dark', kept)).getState().theme).toBe(theme)
    }
  })

  test('that an earlier version kept is taken as chosen, but for the one that it began with', async () => {
    const as = (theme: string) => ({ 'farthing.studio': JSON.stringify({ theme, user: 'ada' }) })
    expect((await opened('dark', as('light'))).getState().theme).toBe('light')
    expect((await opened('dark', as('auto'))).getState().theme).toBe('dark')
    expect((await opened('dark', as('auto'))).getState().user).toBe('ada')
  })
})

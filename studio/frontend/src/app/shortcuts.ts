// Keys of an open flow. A key that is typed into a field belongs to the field.
import { useEffect } from 'react'
import { tidy } from '../canvas/Canvas'
import { useFlow } from '../state/flow'
import { launch } from '../state/launch'
import { useRun } from '../state/run'
import { type DrawerTab, useUi } from '../state/ui'

const TABS: DrawerTab[] = ['chat', 'timeline', 'problems', 'events']

export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null
  if (!element?.closest) return false
  if (element.closest('textarea, select, [contenteditable=true], dialog')) return true
  return element instanceof HTMLInputElement && !['checkbox', 'button', 'radio'].includes(element.type)
}

interface Acts {
  save(): void
  fit(): void
}

export function useShortcuts({ save, fit }: Acts): void {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return
      const ctrl = event.ctrlKey || event.metaKey
      if (ctrl ? withCtrl(event, save) : !isTyping(event.target) && plain(event, fit)) event.preventDefault()
      else if (event.key === 'Escape' && !(event.target as HTMLElement).closest?.('dialog')) escape(event)
    }
    addEventListener('keydown', keys)
    return () => removeEventListener('keydown', keys)
  }, [save, fit])
  useClipboard()
}

function withCtrl(event: KeyboardEvent, save: () => void): boolean {
  const flow = useFlow.getState()
  const key = event.key.toLowerCase()
  if (event.key === 'Enter') { void launch(); return true }
  if (key === 's') { save(); return true }
  if (isTyping(event.target)) return false
  if (key === 'z' && !event.shiftKey) { flow.undo(); return true }
  if (key === 'y' || (key === 'z' && event.shiftKey)) { flow.redo(); return true }
  if (key === 'd') { flow.duplicate(); revealNew(); return true }
  if (key === 'a') { flow.selectAll(); return true }
  if (key === 'f') { useUi.getState().set({ find: true }); return true }
  return false
}

function plain(event: KeyboardEvent, fit: () => void): boolean {
  if (event.altKey) return false
  const flow = useFlow.getState()
  const ui = useUi.getState()
  const inDrawer = !!(event.target as HTMLElement).closest?.('.drawer')
  switch (event.key) {
    case '/': ui.set({ quickAdd: { screen: middle() } }); return true
    case '?': ui.set({ help: true }); return true
    case 'l': case 'L': void tidy(); return true
    case 'n': case 'N': flow.addNote({ x: 0, y: -140 }); return true
    case 'g': case 'G': flow.group(); return true
    case 'f': case 'F': fit(); return true
    case 'Delete': case 'Backspace': if (inDrawer) return false; flow.remove(); return true
    case 'Enter': return edit(event)
    case '1': case '2': case '3': case '4': ui.set({ drawer: true, tab: TABS[Number(event.key) - 1]! }); return true
    default: return false
  }
}

/** Enter on a node selects it and goes to the first field of its form. */
function edit(event: KeyboardEvent): boolean {
  const on = (event.target as HTMLElement).closest?.('.react-flow__node')
  if (!on && event.target !== document.body) return false
  const id = on?.getAttribute('data-id') ?? useFlow.getState().nodes.find((n) => n.selected)?.id
  if (!id) return false
  useFlow.getState().select([id])
  useUi.getState().set({ inspector: true })
  setTimeout(() => document.querySelector<HTMLElement>('.inspector .form input, .inspector .form textarea, .inspector .form select')?.focus(), 30)
  return true
}

/** Escape closes what is open, leaves a field, and at last cancels the run. */
function escape(event: KeyboardEvent): void {
  const ui = useUi.getState()
  if (ui.quickAdd || ui.help) return ui.set({ quickAdd: null, help: false })
  if (isTyping(event.target)) return (event.target as HTMLElement).blur()
  if (useRun.getState().status === 'running') return void useRun.getState().cancel()
  useFlow.getState().select([])
}

/** Brings what was put there, and is selected since, into sight. */
function revealNew(): void {
  const first = useFlow.getState().nodes.find((node) => node.selected)
  if (first) useUi.getState().set({ reveal: { id: first.id, near: false } })
}

function middle(): { x: number; y: number } {
  const box = document.querySelector('.canvas')?.getBoundingClientRect()
  return box ? { x: box.left + box.width / 2 - 150, y: box.top + box.height / 4 } : { x: 300, y: 200 }
}

/** The browser's own copy and paste, so that no permission is asked for and other programs can read it. */
function useClipboard(): void {
  useEffect(() => {
    const chosen = () => !String(getSelection() ?? '')
    const copy = (event: ClipboardEvent) => {
      if (isTyping(event.target) || !chosen()) return
      const text = useFlow.getState().copy()
      if (!text) return
      event.clipboardData?.setData('text/plain', text)
      event.preventDefault()
      if (event.type === 'cut') useFlow.getState().remove()
    }
    const paste = (event: ClipboardEvent) => {
      if (isTyping(event.target)) return
      if (!useFlow.getState().paste(event.clipboardData?.getData('text/plain') ?? '')) return
      event.preventDefault()
      revealNew()
    }
    document.addEventListener('copy', copy)
    document.addEventListener('cut', copy)
    document.addEventListener('paste', paste)
    return () => {
      document.removeEventListener('copy', copy)
      document.removeEventListener('cut', copy)
      document.removeEventListener('paste', paste)
    }
  }, [])
}

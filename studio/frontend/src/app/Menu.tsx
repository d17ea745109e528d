// A menu behind a button: arrows move, Escape closes and gives the focus back.
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'

export interface Entry {
  label: string
  keys?: string
  disabled?: boolean
  act(): void
}

export function Menu({ label, children, entries, className = 'icon-button' }: { label: string; children: ReactNode; entries: readonly Entry[]; className?: string }) {
  const [open, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  useEffect(() => {
    if (!open) return
    root.current?.querySelector<HTMLElement>('[role=menuitem]:not(:disabled)')?.focus()
    const away = (event: PointerEvent) => { if (!root.current?.contains(event.target as Node)) setOpen(false) }
    addEventListener('pointerdown', away)
    return () => removeEventListener('pointerdown', away)
  }, [open])
  const keys = (event: React.KeyboardEvent) => {
    if (!open) return
    event.stopPropagation()
    const items = [...(root.current?.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)') ?? [])]
    const at = items.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Escape' || event.key === 'Tab') {
      setOpen(false)
      if (event.key === 'Escape') button.current?.focus()
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      items[(at + (event.key === 'ArrowDown' ? 1 : items.length - 1)) % items.length]?.focus()
    }
  }
  return (
    <div className="menu" ref={root} onKeyDown={keys}>
      <button ref={button} type="button" className={className} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined}
        aria-label={label} title={label} onClick={() => setOpen(!open)}>{children}</button>
      {open && (
        <div id={id} role="menu" aria-label={label} className="menu-list">
          {entries.map((entry) => (
            <button key={entry.label} type="button" role="menuitem" disabled={entry.disabled} tabIndex={-1} onClick={() => { setOpen(false); button.current?.focus(); entry.act() }}>
              <span>{entry.label}</span>{entry.keys && <kbd>{entry.keys}</kbd>}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}

// Find a node of the open flow by its name, type or what its card says, and go to it: with Ctrl+F.
import { useEffect, useMemo, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { Icon } from '../app/icons'
import { useCatalog } from '../state/catalog'
import { useCards } from '../state/cards'
import { useFlow } from '../state/flow'
import { useUi } from '../state/ui'
import { useValidation } from '../state/validation'
import { type Findable, found } from './find'

const MOST = 50

export function FindNode() {
  return useUi((s) => s.find) ? <Popover /> : null
}

const close = () => useUi.getState().set({ find: false })

function go(node: Findable | undefined): void {
  if (!node) return
  useFlow.getState().select([node.id])
  useUi.getState().set({ find: false, inspector: true, reveal: { id: node.id, near: true } })
}

function Popover() {
  const cards = useCards((s) => s.cards)
  const types = useCatalog((s) => s.types)
  const told = useValidation((s) => s.cards)
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const box = useRef<HTMLDivElement>(null)
  const all = useMemo(() => cards.map(({ id, type }): Findable => ({ id, type: types[type]?.title ?? type, summary: told[id]?.summary ?? '' })), [cards, types, told])
  const matches = useMemo(() => found(all, text), [all, text])
  const shown = matches.slice(0, MOST)
  useEffect(() => {
    const away = (event: PointerEvent) => { if (!box.current?.contains(event.target as Node)) close() }
    addEventListener('pointerdown', away, true)
    return () => removeEventListener('pointerdown', away, true)
  }, [])
  useEffect(() => { box.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }) }, [active])
  const keys = (event: React.KeyboardEvent) => {
    event.stopPropagation()
    if (event.key === 'Escape') close()
    else if (event.key === 'Enter') go(shown[active])
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setActive((active + (event.key === 'ArrowDown' ? 1 : shown.length - 1)) % Math.max(1, shown.length))
    }
  }
  const canvas = document.querySelector('.canvas')?.getBoundingClientRect()
  const left = canvas ? canvas.left + canvas.width / 2 - 150 : 300
  return createPortal(
    <div ref={box} className="quick-add" style={{ left, top: (canvas?.top ?? 60) + 12 }} onKeyDown={keys} role="dialog" aria-label="Find a node">
      <div className="search-box">
        <Icon name="search" />
        <input autoFocus value={text} placeholder="Find a node…" aria-label="Name, type or setting" role="combobox" aria-expanded="true" aria-controls="find-list"
          aria-activedescendant={shown[active] ? `find-${active}` : undefined} onChange={(e) => { setText(e.target.value); setActive(0) }} />
      </div>
      <ul id="find-list" role="listbox" aria-label="Nodes of this flow">
        {shown.map((node, i) => (
          <li key={node.id} id={`find-${i}`} role="option" aria-selected={i === active} onPointerEnter={() => setActive(i)} onClick={() => go(node)}>
            <span><strong dir="auto">{node.id}</strong><span className="muted" dir="auto">{[node.type, node.summary].filter(Boolean).join(' · ')}</span></span>
          </li>
        ))}
        {matches.length > MOST && <li className="none muted" role="option" aria-selected="false" aria-disabled="true">and {matches.length - MOST} more: type to narrow it down</li>}
        {!matches.length && <li className="none muted" role="option" aria-selected="false" aria-disabled="true">{text ? `No node tells of “${text}”.` : 'This flow has no nodes yet.'}</li>}
      </ul>
    </div>,
    document.body,
  )
}

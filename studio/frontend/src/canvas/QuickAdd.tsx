// Add a node by typing its name: with `/`, by a double click, or where an edge was dropped; then only what fits.
import { useReactFlow } from '@xyflow/react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import type { NodeType, PortKind } from '../api/types'
import { Icon } from '../app/icons'
import { search } from '../palette/search'
import { useCatalog } from '../state/catalog'
import { useFlow } from '../state/flow'
import { fitting } from '../state/ports'
import { useUi } from '../state/ui'
import { beside, bringIntoView, freeSpot } from './spot'

export function QuickAdd() {
  const at = useUi((s) => s.quickAdd)
  return at ? <Popover key={`${at.screen.x},${at.screen.y}`} /> : null
}

function Popover() {
  const at = useUi((s) => s.quickAdd)!
  const set = useUi((s) => s.set)
  const list = useCatalog((s) => s.list)
  const canvas = useReactFlow()
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const box = useRef<HTMLDivElement>(null)
  const from = at.from
  const offered = useMemo(() => {
    const types = from ? fitting(list, from.kind as PortKind, from.side === 'outputs' ? 'inputs' : 'outputs').map((each) => each.type) : list
    return search(types, text)
  }, [list, text, from])

  const close = () => set({ quickAdd: null, wiring: null })
  useEffect(() => {
    const away = (event: PointerEvent) => { if (!box.current?.contains(event.target as Node)) useUi.getState().set({ quickAdd: null, wiring: null }) }
    addEventListener('pointerdown', away, true)
    return () => removeEventListener('pointerdown', away, true)
  }, [])

  const add = (type: NodeType | undefined) => {
    if (!type) return
    const { nodes, add: put } = useFlow.getState()
    const wanted = canvas.screenToFlowPosition(at.screen)
    const spot = freeSpot(nodes, type, at.exact || from ? wanted : beside(nodes, type) ?? wanted)
    const id = put(type, spot)
    if (from) join(from, id, type)
    bringIntoView(canvas, spot)
    close()
  }
  const keys = (event: React.KeyboardEvent) => {
    event.stopPropagation()
    if (event.key === 'Escape') close()
    else if (event.key === 'Enter') add(offered[active])
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setActive((active + (event.key === 'ArrowDown' ? 1 : offered.length - 1)) % Math.max(1, offered.length))
    }
  }
  const left = Math.max(8, Math.min(at.screen.x, innerWidth - 320))
  const top = Math.max(8, Math.min(at.screen.y, innerHeight - 380))
  // Above everything: the canvas it belongs to lies below the drawer.
  return createPortal(
    <div ref={box} className="quick-add" style={{ left, top }} onKeyDown={keys} role="dialog" aria-label="Add a node">
      <div className="search-box">
        <Icon name="search" />
        <input autoFocus value={text} placeholder={from ? `What takes a ${from.kind}?` : 'Add a node…'} aria-label="Search nodes" role="combobox" aria-expanded="true"
          aria-controls="quick-list" aria-activedescendant={offered[active] ? `quick-${offered[active].name}` : undefined}
          onChange={(e) => { setText(e.target.value); setActive(0) }} />
      </div>
      <ul id="quick-list" role="listbox" aria-label="Nodes">
        {offered.map((type, i) => (
          <li key={type.name} id={`quick-${type.name}`} role="option" aria-selected={i === active} data-category={type.category} onPointerEnter={() => setActive(i)} onClick={() => add(type)}>
            <Icon name={type.icon} /><span><strong>{type.title}</strong><span className="muted">{type.help}</span></span>
          </li>
        ))}
        {!offered.length && <li className="none muted" role="option" aria-selected="false" aria-disabled="true">{text ? `Nothing is called “${text}”.` : 'No installed node fits here.'}</li>}
      </ul>
    </div>,
    document.body,
  )
}

/** The new node is joined to the end that was dropped, by its first port that fits. */
function join(from: NonNullable<ReturnType<typeof useUi.getState>['wiring']>, id: string, type: NodeType): void {
  const side = from.side === 'outputs' ? 'inputs' : 'outputs'
  const port = type[side].find((each) => each.kind === from.kind)?.name
  const { connect } = useFlow.getState()
  if (side === 'inputs') connect({ source: from.node, sourceHandle: from.port, target: id, targetHandle: port })
  else connect({ source: id, sourceHandle: port, target: from.node, targetHandle: from.port })
}

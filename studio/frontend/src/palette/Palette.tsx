// Node types to add: drag one to the canvas, or press it.
import { useReactFlow } from '@xyflow/react'
import { useState } from 'react'
import type { NodeType } from '../api/types'
import { Icon } from '../app/icons'
import { useCatalog } from '../state/catalog'
import { beside, bringIntoView, freeSpot } from '../canvas/spot'
import { useFlow } from '../state/flow'
import { useUi } from '../state/ui'
import { byCategory, search } from './search'

export function Palette() {
  const list = useCatalog((s) => s.list)
  const set = useUi((s) => s.set)
  const canvas = useReactFlow()
  const [text, setText] = useState('')
  const found = search(list, text)

  const add = (type: NodeType) => {
    const box = document.querySelector('.react-flow__pane')?.getBoundingClientRect()
    const spot = canvas.screenToFlowPosition({ x: (box?.left ?? 0) + (box?.width ?? 600) / 2 - 110, y: (box?.top ?? 0) + (box?.height ?? 400) / 2 - 40 })
    const { nodes, add: put } = useFlow.getState()
    const free = freeSpot(nodes, type, beside(nodes, type) ?? spot)
    put(type, free)
    bringIntoView(canvas, free)
  }
  return (
    <aside className="palette" aria-label="Palette">
      <div className="panel-head">
        <h2>Nodes</h2>
        <button type="button" className="icon-button" onClick={() => set({ palette: false })} aria-label="Hide the palette" title="Hide the palette"><Icon name="left" /></button>
      </div>
      <div className="search-box">
        <Icon name="search" />
        <input type="search" value={text} placeholder="Search" aria-label="Search the palette" onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => { if (e.key === 'Enter' && found[0]) add(found[0]) }} />
      </div>
      <div className="palette-list">
        {byCategory(found).map(([category, types]) => (
          <section key={category} data-category={category}>
            <h3>{category}</h3>
            {types.map((type) => (
              <button key={type.name} type="button" className="palette-item" draggable title={type.help} data-testid={`palette-${type.name}`} onClick={() => add(type)}
                onDragStart={(e) => { e.dataTransfer.setData('application/x-farthing-node', type.name); e.dataTransfer.effectAllowed = 'copy' }}>
                <Icon name={type.icon} />{type.title}
              </button>
            ))}
          </section>
        ))}
        {!found.length && <p className="muted">Nothing is called “{text}”.</p>}
      </div>
      <button type="button" className="palette-item quiet" onClick={() => {
        const spot = canvas.screenToFlowPosition({ x: innerWidth / 2, y: innerHeight / 3 })
        useFlow.getState().addNote({ x: Math.round(spot.x / 10) * 10, y: Math.round(spot.y / 10) * 10 })
        // It is there to be written in.
        setTimeout(() => document.querySelector<HTMLElement>('.note.selected textarea')?.focus(), 60)
      }}><Icon name="note" />Note</button>
    </aside>
  )
}

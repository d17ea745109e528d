// A node's ports as lists and selects: every edge can be made and removed without a mouse.
import { useMemo, useRef, useState } from 'react'
import type { Port } from '../api/types'
import { Icon, PortShape } from '../app/icons'
import { useCatalog } from '../state/catalog'
import { useCards } from '../state/cards'
import type { CardNode } from '../state/document'
import { useFlow } from '../state/flow'
import { type Ends, type Side, portsOf } from '../state/ports'
import { useValidation } from '../state/validation'

export function Connections({ id }: { id: string }) {
  const types = useCatalog((s) => s.types)
  const cards = useValidation((s) => s.cards)
  const edges = useFlow((s) => s.edges)
  // Its data, and not the node, which is another one at each step of a drag.
  const data = useFlow((s) => s.nodes.find((n) => n.id === id)?.data) as CardNode['data']
  const node = { id, type: 'card', data, position: { x: 0, y: 0 } } as CardNode
  const inputs = portsOf(node, 'inputs', types, cards[id], edges)
  const outputs = portsOf(node, 'outputs', types, cards[id], edges)
  if (!inputs.length && !outputs.length) return null
  return (
    <section className="connections" aria-label="Connections">
      <h3>Connections</h3>
      {inputs.map((port) => <PortLine key={`in-${port.name}`} id={id} port={port} side="inputs" />)}
      {outputs.map((port) => <PortLine key={`out-${port.name}`} id={id} port={port} side="outputs" />)}
    </section>
  )
}

function PortLine({ id, port, side }: { id: string; port: Port; side: Side }) {
  const every = useFlow((s) => s.edges)
  const edges = useMemo(
    () => every.filter((e) => (side === 'inputs' ? e.target === id && e.targetHandle === port.name : e.source === id && e.sourceHandle === port.name)),
    [every, id, port.name, side],
  )
  const others = useOthers(id, port, side)
  const { connect, disconnect, select } = useFlow.getState()
  const far = (edge: (typeof edges)[number]) => (side === 'inputs' ? { node: edge.source, port: edge.sourceHandle } : { node: edge.target, port: edge.targetHandle })
  const taken = new Set(edges.map((edge) => `${far(edge).node}\n${far(edge).port ?? ''}`))
  const free = others.filter((each) => !taken.has(`${each.node}\n${each.port}`))
  const label = `${side === 'inputs' ? 'Into' : 'From'} ${port.title || port.name}`
  const [wanted, setWanted] = useState('')
  const box = useRef<HTMLDivElement>(null)
  // Arrows and letters only choose, since they pass over what is not meant; Enter connects.
  const byKey = useRef(false)
  const join = (value: string) => {
    const [node = '', other = ''] = value.split('\n')
    const ends: Ends = side === 'inputs'
      ? { source: node, sourceHandle: other, target: id, targetHandle: port.name }
      : { source: id, sourceHandle: port.name, target: node, targetHandle: other }
    connect(ends)
    setWanted('')
    // The select may be gone with its last choice; the focus must not be, or the next key would be a shortcut.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) box.current?.querySelector<HTMLElement>('select, li:last-child button')?.focus()
    })
  }
  return (
    <div className="port-line" ref={box}>
      <div className="port-name"><PortShape kind={port.kind} />{label}<span className="muted">{port.kind}</span></div>
      <ul>
        {edges.map((edge) => (
          <li key={edge.id}>
            <button type="button" className="plain-button" onClick={() => select([far(edge).node])}>{far(edge).node}</button>
            <button type="button" className="icon-button" aria-label={`Remove the edge ${side === 'inputs' ? 'from' : 'to'} ${far(edge).node}`} onClick={() => disconnect(edge.id)}><Icon name="close" /></button>
          </li>
        ))}
      </ul>
      {free.length > 0 && (
        <select aria-label={`${label}: connect`} title="Enter connects" value={wanted} onPointerDown={() => { byKey.current = false }} onBlur={() => setWanted('')}
          onChange={(e) => (byKey.current ? setWanted(e.target.value) : join(e.target.value))}
          onKeyDown={(e) => {
            byKey.current = true
            if (e.key === 'Enter' && wanted) { e.preventDefault(); join(wanted) }
          }}>
          <option value="">{edges.length ? 'Connect another…' : 'Connect…'}</option>
          {free.map((each) => <option key={`${each.node}\n${each.port}`} value={`${each.node}\n${each.port}`}>{each.node}{each.main ? '' : ` · ${each.port}`}</option>)}
        </select>
      )}
    </div>
  )
}

/** Ports of other nodes that this one could be joined to. */
function useOthers(id: string, port: Port, side: Side) {
  const types = useCatalog((s) => s.types)
  const cards = useValidation((s) => s.cards)
  const all = useCards((s) => s.cards)
  return useMemo(() => all.flatMap(({ id: node, type }) => {
    if (node === id) return []
    const there = side === 'inputs' ? 'outputs' : 'inputs'
    const ports = cards[node]?.[there] ?? types[type]?.[there] ?? []
    return ports.filter((p) => p.kind === port.kind).map((p) => ({ node, port: p.name, main: p === ports[0] || ports.length === 1 }))
  }), [all, types, cards, id, port.kind, side])
}

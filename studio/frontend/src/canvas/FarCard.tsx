// A node from far off: a block of its colour and state, as large as the card that it stands for. Four hundred of
// them must cost little, so there is no small print and no picture, and ports are bare places: an edge from a card in sight
// to one that was only seen from far off must know where to end.
import { memo } from 'react'
import type { Card as CardText, NodeType, Port } from '../api/types'
import type { NodeLive } from '../state/run'
import { isAttachment } from './ports'

interface Shape {
  pill: boolean
  card: CardText | undefined
  inputs: readonly Port[]
  outputs: readonly Port[]
}

interface Props extends Shape {
  id: string
  type: NodeType | undefined
  live: NodeLive | undefined
  level: string
  errors: number
  warnings: number
  selected: boolean
  wired: ReadonlySet<string>
  /** Pixels, where the card was drawn near before. */
  height: number | undefined
}

const HEAD = 33
const SUMMARY = 24
const PORT = 20
const PORTS_BELOW = 9
/** What a card with attachments has below its ports: their names. */
const ATTACHED = 31
const PILL = 44

/** Pixels that a card will have at rest, before it is drawn. */
export function heightOf({ pill, card, inputs, outputs }: Shape): number {
  if (pill) return PILL
  const messages = inputs.filter((port) => !isAttachment(port)).length
  const attached = messages < inputs.length
  return HEAD + (attached ? SUMMARY + PORT : card?.summary ? SUMMARY : 0) + PORT * Math.max(messages, outputs.length) + PORTS_BELOW + (attached ? ATTACHED : 0)
}

/** How far above a card's lower edge an edge of messages ends, in pixels. */
export function portAbove(ports: readonly Port[], name: string | null | undefined, attached: boolean): number {
  const messages = ports.filter((port) => !isAttachment(port))
  const at = Math.max(0, messages.findIndex((port) => port.name === name))
  return PORTS_BELOW + PORT / 2 + (attached ? ATTACHED : 0) + Math.max(0, messages.length - 1 - at) * PORT
}

export const FarCard = memo(function FarCard(props: Props) {
  const { id, pill, type, live, level, errors, warnings, selected, inputs, outputs, wired } = props
  const messages = inputs.filter((port) => !isAttachment(port))
  const attached = inputs.filter(isAttachment)
  const ends = (ports: readonly Port[], side: 'inputs' | 'outputs', at: 'left' | 'right' | 'top' | 'bottom') =>
    ports.map((port, i) => wired.has(`${side} ${port.name}`) && (
      <div key={`${side}${port.name}`} className={`far-port ${side === 'inputs' ? 'target' : 'source'} ${at}`} data-handleid={port.name} data-nodeid={id} data-handlepos={at}
        style={at === 'left' || at === 'right' ? { bottom: portAbove(ports, port.name, attached.length > 0) - 9 } : { left: `${((i + 0.5) / ports.length) * 100}%` }} />
    ))
  const state = errors ? 'failed' : warnings ? 'warned' : live?.state ?? ''
  return (
    <div className={`far-card${pill ? ' far-pill' : ''} ${state} ${level}${selected ? ' selected' : ''}${type ? '' : ' unknown'}`} data-category={type?.category} data-testid={`node-${id}`}
      data-state={live?.state ?? 'idle'} style={{ height: props.height ?? heightOf(props) }}>
      <strong dir="auto">{id}</strong>
      {pill ? ends(inputs, 'inputs', 'bottom') : [ends(messages, 'inputs', 'left'), ends(attached, 'inputs', 'bottom')]}
      {ends(outputs, 'outputs', pill ? 'top' : 'right')}
    </div>
  )
})

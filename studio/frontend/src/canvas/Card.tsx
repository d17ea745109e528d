// A node as drawn: a card, or a pill for what is attached. Knows nothing of stores; all it shows is handed in.
import { Handle, Position } from '@xyflow/react'
import { memo, useContext } from 'react'
import type { Card as CardText, Gauge, NodeType, Port } from '../api/types'
import { filled, gaugeText } from '../app/GaugeBar'
import { Icon, PortShape } from '../app/icons'
import { amountText, dollars, short } from '../lib/money'
import { clip } from '../lib/text'
import { duration } from '../lib/time'
import type { NodeLive } from '../state/run'
import { useUi } from '../state/ui'
import { tokensOf } from '../timeline/row'
import { Wired, isAttachment } from './ports'

export interface CardProps {
  id: string
  typeName: string
  type: NodeType | undefined
  card: CardText | undefined
  inputs: readonly Port[]
  outputs: readonly Port[]
  errors: number
  warnings: number
  live: NodeLive | undefined
  gauge: Gauge | undefined
  selected: boolean
}

const STATE_WORDS: Record<string, string> = {
  queued: 'queued', running: 'running', waiting: 'waiting for budget', done: 'done', failed: 'failed', stopped: 'stopped by budget', skipped: 'skipped',
  cancelled: 'cancelled', interrupted: 'interrupted', unreached: 'not reached',
}

export const PortHandle = memo(function PortHandle({ id, port, side, at }: { id: string; port: Port; side: 'inputs' | 'outputs'; at: Position }) {
  const handleType = side === 'inputs' ? 'target' : 'source'
  const wired = useContext(Wired).has(`${side} ${port.name}`)
  const fit = useUi((s) => (!s.wiring ? 'idle' : s.wiring.node !== id && s.wiring.side !== side && s.wiring.kind === port.kind ? 'yes' : 'no'))
  return (
    <Handle type={handleType} position={at} id={port.name} className={`port fit-${fit}${wired ? ' wired' : ''}`} data-kind={port.kind}
      data-testid={`port-${id}-${port.name}`} title={`${port.title || port.name} (${port.kind})${port.required ? ', required' : ''}`}>
      <PortShape kind={port.kind} />
    </Handle>
  )
})

export function Card(props: CardProps) {
  const { id, type, live, selected, inputs, outputs } = props
  const message = inputs.filter((port) => !isAttachment(port))
  const attached = inputs.filter(isAttachment)
  return (
    <div className={`card ${live?.state ?? ''}${selected ? ' selected' : ''}${type ? '' : ' unknown'}`} data-category={type?.category} data-testid={`node-${id}`} data-state={live?.state ?? 'idle'}>
      <div className="card-head">
        <Icon name={type?.icon ?? 'warning'} />
        <strong dir="auto" title={id}>{id}</strong>
        <span className="card-type">{type?.title ?? `${props.typeName} (not installed)`}</span>
        <Marks {...props} />
      </div>
      {attached.length > 0 ? <Steady summary={props.card?.summary ?? ''} live={live} /> : props.card?.summary && <div className="card-summary" dir="auto">{clip(props.card.summary, 90)}</div>}
      {(message.length > 0 || outputs.length > 0) && (
        <div className="card-ports">
          <div>{message.map((port) => <PortRow key={port.name} id={id} port={port} side="inputs" alone={message.length === 1} />)}</div>
          <div>{outputs.map((port) => <PortRow key={port.name} id={id} port={port} side="outputs" alone={outputs.length === 1} />)}</div>
        </div>
      )}
      {attached.length === 0 && <><LiveText live={live} /><Foot live={live} /></>}
      {attached.length > 0 && (
        <div className="card-attached">
          {attached.map((port) => (
            <span key={port.name} className="attach-port"><span>{port.title || port.name}</span><PortHandle id={id} port={port} side="inputs" at={Position.Bottom} /></span>
          ))}
        </div>
      )}
    </div>
  )
}

export function Pill(props: CardProps) {
  const { id, type, live, gauge, selected, outputs, inputs } = props
  const fill = gauge && filled(gauge)
  return (
    <div className={`pill ${live?.state ?? ''}${selected ? ' selected' : ''} ${fill?.level ?? ''}`} data-category={type?.category} data-testid={`node-${id}`} data-state={live?.state ?? 'idle'}
      title={gauge ? gaugeText(gauge) : undefined}>
      {fill && <span className="pill-fill" style={{ width: `${fill.usedPct}%` }} />}
      {outputs.map((port) => <PortHandle key={port.name} id={id} port={port} side="outputs" at={Position.Top} />)}
      {inputs.map((port) => <PortHandle key={port.name} id={id} port={port} side="inputs" at={Position.Bottom} />)}
      <Icon name={type?.icon ?? 'warning'} />
      <span className="pill-text"><strong dir="auto" title={id}>{id}</strong><span>{gauge ? pillText(gauge) : clip(props.card?.summary ?? type?.title ?? props.typeName, 44)}</span></span>
      <Marks {...props} />
    </div>
  )
}

/** What is used of it, as short as a pill is. */
function pillText({ metric, used, limit }: Gauge): string {
  if (metric === 'spend' || limit === null) return `${amountText(metric, used, true, 4)} of ${amountText(metric, limit, false, 4)}`
  return `${short(Number(used))} of ${short(Number(limit))} tokens`
}

function PortRow({ id, port, side, alone }: { id: string; port: Port; side: 'inputs' | 'outputs'; alone: boolean }) {
  return (
    <div className={`port-row ${side}`}>
      <PortHandle id={id} port={port} side={side} at={side === 'inputs' ? Position.Left : Position.Right} />
      <span className={alone ? 'faint' : ''}>{port.title || port.name}{port.required && side === 'inputs' ? <span className="must" title="required"> *</span> : null}</span>
    </div>
  )
}

function Marks({ errors, warnings, live }: CardProps) {
  return (
    <span className="marks">
      {live?.state === 'running' && <span className="spin" role="img" aria-label="running" />}
      {live?.state === 'waiting' && <Icon name="clock" label="waiting for budget" />}
      {live?.state === 'done' && <Icon name="check" label="done" />}
      {live?.state === 'failed' && <Icon name="error" label="failed" />}
      {live?.state === 'interrupted' && <Icon name="close" label="interrupted" />}
      {live?.state === 'stopped' && <Icon name="blocked" label="stopped by budget" />}
      {errors > 0 && <span className="badge bad" role="img" aria-label={`${errors} errors`}>{errors}</span>}
      {errors === 0 && warnings > 0 && <span className="badge warn" role="img" aria-label={`${warnings} warnings`}>{warnings}</span>}
    </span>
  )
}

/** Pills stand right below a card that has some, so it is as high in a run as it was before: what happens lies over the
 * summary, and what it took stands where a second line of it was. */
function Steady({ summary, live }: { summary: string; live: NodeLive | undefined }) {
  const busy = !!live && (!!live.error || ((live.state === 'running' || live.state === 'waiting') && !!(live.tool || live.state === 'waiting' || live.text)))
  return (
    <div className="card-steady">
      {/* An empty summary keeps the height of the place. */}
      <div className={busy ? 'card-summary covered' : 'card-summary'} dir="auto">{clip(summary, 90)}</div>
      {busy ? <LiveText live={live} /> : <Foot live={live} />}
    </div>
  )
}

function LiveText({ live }: { live: NodeLive | undefined }) {
  if (!live) return null
  if (live.error) return <div className="card-error" dir="auto" title={[live.error.message, live.error.remedy].filter(Boolean).join('\n')}><span>{live.error.message}</span></div>
  if (live.state !== 'running' && live.state !== 'waiting') return null
  const text = live.tool ? `calls ${live.tool}…` : live.state === 'waiting' ? 'waits for budget…' : live.text
  return text ? <div className="card-stream nowheel" dir="auto"><span>{text.length > 80 ? `…${text.slice(-80)}` : text}</span></div> : null
}

function Foot({ live }: { live: NodeLive | undefined }) {
  if (!live || live.ms === null) return live && ['skipped', 'cancelled', 'interrupted', 'unreached'].includes(live.state) ? <div className="card-foot">{STATE_WORDS[live.state]}</div> : null
  const tokens = tokensOf(live.usage)
  if (live.state === 'done' && live.ms < 1 && !tokens) return null
  return (
    <div className="card-foot">
      {live.state !== 'done' && !live.error && <span>{STATE_WORDS[live.state]}</span>}
      <span>{duration(live.ms)}</span>
      {tokens > 0 && <span>{short(tokens)} tokens</span>}
      {live.usage && <span title={live.unknown ? 'at least: the cost of some calls is unknown' : undefined}>{live.unknown ? '≥ ' : ''}{dollars(live.cost, 4)}</span>}
    </div>
  )
}

// One row of the timeline.
import { memo } from 'react'
import { gaugeText, leftText, tightest, filled } from '../app/GaugeBar'
import { Icon } from '../app/icons'
import { HelpText } from '../inspector/HelpText'
import { dollars, fixedDollars, short } from '../lib/money'
import { clip, sentence, theBudget } from '../lib/text'
import { duration } from '../lib/time'
import type { Row } from './row'

export const ROW_HEIGHT = 28
export const STOP_HEIGHT = 52
/** The axis is longer than the run by this, so that the label of the last bar has its place. */
export const ROOM = 1.2

interface Props {
  row: Row
  version: number
  index: number
  selected: boolean
  lit: boolean
  folded: boolean
  scale: number
  now: number
  onSelect(row: Row): void
  onToggle(seq: number): void
}

const ICONS: Record<string, string> = { run: 'play', call: 'sparkles', tool: 'wrench', memory: 'bookmark', note: 'note', admin: 'settings', warning: 'warning', stop: 'blocked', error: 'error' }
const STATES: Record<string, string> = { failed: 'error', stopped: 'blocked', skipped: 'minus', cancelled: 'close', interrupted: 'close', waiting: 'clock' }

/** What the row is called: a call by its purpose and model. */
export function rowName(row: Row): string {
  if (row.kind !== 'call') return row.what
  const model = row.model?.split(':').at(-1)
  return `${row.purpose === 'main' ? (model ?? 'model call') : `${row.purpose}${model ? ` · ${model}` : ''}`}${row.attempt > 1 ? ` · try ${row.attempt}` : ''}`
}

export const RowLine = memo(function RowLine({ row, index, selected, lit, folded, scale, onSelect, onToggle }: Props) {
  const loud = row.kind === 'stop' || row.kind === 'warning' || row.kind === 'error'
  return (
    <div id={`row-${row.seq}`} role="row" aria-level={row.depth + 1} aria-rowindex={index + 2} aria-selected={selected} aria-expanded={row.below.length ? !folded : undefined} data-row={row.kind} data-state={row.state}
      className={`row${selected ? ' selected' : ''}${lit ? ' lit' : ''}${loud ? ' loud' : ''}`} style={{ height: loud ? STOP_HEIGHT : ROW_HEIGHT }} onClick={() => onSelect(row)}>
      <span role="gridcell" className="row-name" style={{ '--depth': row.depth } as React.CSSProperties}>
        {row.below.length > 0 ? <span className={folded ? 'fold closed' : 'fold'} aria-hidden onClick={(e) => { e.stopPropagation(); onToggle(row.seq) }}><Icon name="down" /></span> : <span className="fold" />}
        <Icon name={STATES[row.state] ?? ICONS[row.kind] ?? 'right'} />
        <span className="row-what" dir="auto" title={rowName(row)}>{loud && row.gauge ? (row.kind === 'stop' ? `Stopped by ${theBudget(row.gauge.budget)}` : sentence(`${theBudget(row.gauge.budget)} is nearly used`).slice(0, -1)) : rowName(row)}</span>
        {row.rehearsal && <span className="tag rehearsal">rehearsal</span>}
        {!loud && <span className="row-text" dir="auto">{clip(row.text, 160)}</span>}
      </span>
      {loud ? <Loud row={row} /> : (
        <>
          <span role="gridcell" className="bar-cell"><Bar row={row} scale={scale} /></span>
          <span role="gridcell" className="num tokens"><Tokens row={row} /></span>
          <span role="gridcell" className={row.usage && row.cost === null ? 'num unknown' : 'num'} title={row.usage && row.cost !== null ? dollars(row.cost, 9) : undefined}>{row.usage ? `${row.unknown && row.cost !== null ? '≥ ' : ''}${fixedDollars(row.cost)}${row.estimated ? ' ~' : ''}` : ''}</span>
          <span role="gridcell" className="num left"><Left row={row} /></span>
        </>
      )}
    </div>
  )
})

function Loud({ row }: { row: Row }) {
  return (
    <span role="gridcell" aria-colspan={4} className="loud-text">
      <span dir="auto">{row.gauge ? gaugeText(row.gauge) : row.text}</span>
      <span className="loud-remedy" dir="auto"><HelpText text={row.remedy ?? (row.gauge?.field ? `Set by ${row.gauge.field}.` : row.gauge ? row.text : row.code ?? '')} /></span>
    </span>
  )
}

/** Waiting for a budget, a model, and a tool differ in texture as well as in colour. */
function Bar({ row, scale }: { row: Row; scale: number }) {
  if (row.kind === 'note' || row.kind === 'memory' || row.kind === 'admin') return <span className="tick" style={{ left: `${at(row.offset, scale)}%` }} />
  if (row.state === 'skipped') return null
  const length = row.ms ?? Math.max(0, scale / ROOM - row.offset)
  const left = at(row.offset, scale)
  const width = Math.max(0.4, Math.min(100 - left, (length / scale) * 100))
  return (
    <>
      <span className={`bar-fill${row.ms === null ? ' live' : ''}`} style={{ left: `${left}%`, width: `${width}%` }}>
        {row.waited > 0 && length > 0 && <span className="bar-waited" style={{ width: `${Math.min(100, (row.waited / length) * 100)}%` }} title={`waited ${duration(row.waited)} for a budget`} />}
      </span>
      {row.ms !== null && <span className={'bar-ms'} style={{ left: `${left + width}%` }}>{duration(row.ms)}</span>}
    </>
  )
}

const at = (offset: number, scale: number) => Math.min(99.5, Math.max(0, (offset / scale) * 100))

function Tokens({ row }: { row: Row }) {
  const usage = row.usage
  if (!usage || !(usage.input || usage.output)) return null
  const { input = 0, cached = 0, output = 0 } = usage
  const title = `${input} in${cached ? `, ${cached} of them from the cache` : ''}, ${output} out${usage.reasoning ? `, ${usage.reasoning} of them reasoning` : ''}`
  return <span title={title}>{short(input)}{cached > 0 && <span className="cached"> ({short(cached)} cached)</span>} → {short(output)}</span>
}

function Left({ row }: { row: Row }) {
  const gauge = tightest(row.gauges)
  if (!gauge) return null
  return <span className={filled(gauge).level} title={`${gauge.budget}: ${gaugeText(gauge)}`}>{leftText(gauge)}</span>
}

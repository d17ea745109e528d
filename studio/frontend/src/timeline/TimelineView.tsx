// Tree and waterfall in one row a step, with tokens, cost and what a budget had left; details beside it.
import { useCallback, useMemo, useState } from 'react'
import { Icon } from '../app/icons'
import { Virtual } from '../app/Virtual'
import { duration } from '../lib/time'
import { Detail } from './Detail'
import type { Timeline } from './fold'
import { type RowFilter, shown } from './filter'
import { type Row, type RowKind, live as isLive } from './row'
import { ROOM, ROW_HEIGHT, STOP_HEIGHT, RowLine } from './RowLine'

interface Props {
  timeline: Timeline
  version: number
  live: boolean
  selected: number | null
  /** The node that is chosen on a canvas beside it. */
  node: string | null
  run?: string | null
  /** The run that the list begins at; it is scrolled to once. */
  begin?: string | null
  onSelect(row: Row | null): void
}

const KINDS: [RowKind, string][] = [['node', 'Nodes'], ['call', 'Calls'], ['tool', 'Tools'], ['memory', 'Memory'], ['stop', 'Stops'], ['warning', 'Warnings'], ['note', 'Notes']]
const LOUD = new Set<RowKind>(['stop', 'warning', 'error'])

export function TimelineView({ timeline, version, live, selected, node, run = null, begin = null, onSelect }: Props) {
  const [kinds, setKinds] = useState<ReadonlySet<RowKind>>(new Set())
  const [level, setLevel] = useState<RowFilter['level']>('all')
  const [text, setText] = useState('')
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set())
  const all = timeline.rows()
  const rows = useMemo(() => shown(all, { kinds, level, text: text.trim(), folded, run }), [all, version, kinds, level, text, folded, run])
  const scale = useMemo(() => scales(timeline, version), [timeline, version])
  const at = rows.findIndex((row) => row.seq === selected)
  const first = useMemo(() => (begin === null ? undefined : { key: begin, at: rows.findIndex((each) => each.kind === 'run' && each.run === begin) }), [begin, rows])
  const row = rows[at] ?? all.find((each) => each.seq === selected) ?? null
  const present = useMemo(() => new Set(all.map((each) => each.kind)), [all, version])

  const toggle = useCallback((seq: number) => setFolded((before) => {
    const next = new Set(before)
    if (!next.delete(seq)) next.add(seq)
    return next
  }), [])
  const keys = (event: React.KeyboardEvent) => {
    const move = (to: number) => { event.preventDefault(); onSelect(rows[Math.max(0, Math.min(rows.length - 1, to))] ?? null) }
    if (event.key === 'ArrowDown') move(at + 1)
    else if (event.key === 'ArrowUp') move(at - 1)
    else if (event.key === 'Home') move(0)
    else if (event.key === 'End') move(rows.length - 1)
    else if (event.key === 'ArrowLeft' && row) {
      event.preventDefault()
      if (row.below.length && !folded.has(row.seq)) toggle(row.seq)
      else if (row.parent) onSelect(row.parent)
    } else if (event.key === 'ArrowRight' && row && folded.has(row.seq)) { event.preventDefault(); toggle(row.seq) }
  }
  return (
    <div className="timeline">
      <div className="timeline-main">
        <div className="bar" role="toolbar" aria-label="Filter the timeline">
          <input type="search" value={text} placeholder="Find a step" aria-label="Find a step" onChange={(e) => setText(e.target.value)} />
          {KINDS.filter(([kind]) => present.has(kind) || kinds.has(kind)).map(([kind, label]) => (
            <button key={kind} type="button" className="filter" data-row={kind} aria-pressed={kinds.has(kind)} onClick={() => setKinds((before) => {
              const next = new Set(before)
              if (!next.delete(kind)) next.add(kind)
              return next
            })}>{label}</button>
          ))}
          <button type="button" className="filter" aria-pressed={level === 'problems'} onClick={() => setLevel(level === 'all' ? 'problems' : 'all')}>Only problems</button>
          <span className="grow" />
          <button type="button" className="icon-button" title={folded.size ? 'Unfold all' : 'Fold to nodes'} aria-label={folded.size ? 'Unfold all' : 'Fold to nodes'}
            onClick={() => setFolded(folded.size ? new Set() : new Set(all.filter((each) => each.kind === 'node' && each.below.length).map((each) => each.seq)))}><Icon name={folded.size ? 'down' : 'up'} /></button>
        </div>
        <Virtual count={rows.length} version={rows} label="Timeline" role="treegrid" cols={5} follow={live && selected === null} at={at} begin={first} onKeyDown={keys} active={at >= 0 ? `row-${selected}` : undefined} className="rows"
          height={(i) => (LOUD.has(rows[i]!.kind) ? STOP_HEIGHT : ROW_HEIGHT)}
          head={<Head scale={scale.of(rows[0])} />}
          draw={(i) => {
            const each = rows[i]!
            return <RowLine key={each.seq} row={each} version={each.version} index={i} selected={each.seq === selected} lit={node !== null && each.node === node} folded={folded.has(each.seq)}
              scale={scale.of(each)} now={isLive(each) ? version : 0} onSelect={onSelect} onToggle={toggle} />
          }} />
        {!rows.length && <p className="pad muted">No step matches.</p>}
      </div>
      {row && <Detail row={row} version={row.version} onClose={() => onSelect(null)} />}
    </div>
  )
}

function Head({ scale }: { scale: number }) {
  return (
    <div className="rows-head" role="row" aria-rowindex={1}>
      <span role="columnheader">Step</span>
      <span role="columnheader" className="axis">{[0, 0.25, 0.5, 0.75].map((part) => <span key={part} style={{ left: `${part * 100}%` }}>{part ? duration(scale * part) : 'Time'}</span>)}</span>
      <span role="columnheader" className="num">Tokens in → out</span>
      <span role="columnheader" className="num">Cost</span>
      <span role="columnheader" className="num">Budget left</span>
    </div>
  )
}

/** How long each run is, so that its rows share one scale. */
function scales(timeline: Timeline, _version: number): { of(row: Row | undefined): number } {
  const found = new Map<string | null, number>()
  for (const run of timeline.top) {
    const length = run.ms ?? Math.max(1000, ...run.below.map((row) => row.offset + (row.ms ?? 0)), lastOffset(run))
    found.set(run.run, Math.max(found.get(run.run) ?? 1, length))
  }
  return { of: (row) => ((row && found.get(row.run)) || 1000) * ROOM }
}

function lastOffset(row: Row): number {
  let last = row
  while (last.below.length) last = last.below.at(-1)!
  return last.offset + (last.ms ?? 0) + 300
}

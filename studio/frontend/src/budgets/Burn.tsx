// Usage over the period: amounts to the left, UTC below, the threshold and the limit as lines, raises and resets as marks.
import { useLayoutEffect, useRef, useState } from 'react'
import { amountText } from '../lib/money'
import { type Mark, amountTicks, timeTicks } from './axes'
import type { LimitStep, Point } from './rows'

interface Props {
  points: readonly Point[]
  marks: readonly Mark[]
  metric: string
  /** The limit from each time on. */
  limits: readonly LimitStep[]
  threshold: number | null
  start: string
  /** Where the period ends, and the budget counts from nothing again. */
  end: string | null
  /** What was used before the first point. */
  before: number
}

const HEIGHT = 210
const LEFT = 76
const RIGHT = 14
const TOP = 24
const BOTTOM = 26
/** A label takes so much room; narrower charts have fewer. */
const LABEL = 90

function useWidth() {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(640)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const watch = new ResizeObserver(() => setWidth(Math.max(280, element.clientWidth)))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  return [box, width] as const
}

type Scale = (value: number) => number

export function Burn(props: Props) {
  const { points, marks, metric, limits, threshold, start, end, before } = props
  const limit = limits.at(-1)?.limit ?? null
  const [box, width] = useWidth()
  const now = Date.now()
  const from = start ? Date.parse(start) : Math.min(points[0]?.at ?? now, marks[0]?.at ?? now)
  const to = end ? Date.parse(end) : Math.max(points.at(-1)?.at ?? now, marks.at(-1)?.at ?? 0, from + 60_000)
  const last = points.at(-1)?.total ?? before
  const top = Math.max(...limits.map((step) => step.limit ?? 0), before, ...points.map((point) => point.total), 1) * 1.12
  const x: Scale = (at) => LEFT + Math.max(0, Math.min(1, (at - from) / Math.max(1, to - from))) * (width - LEFT - RIGHT)
  const y: Scale = (amount) => HEIGHT - BOTTOM - (amount / top) * (HEIGHT - TOP - BOTTOM)
  const until = Math.min(to, Math.max(now, points.at(-1)?.at ?? from))
  const path = stepped(points, before, from, until, x, y)
  const said = marks.length ? `; ${marks.map((mark) => mark.text).join(', ')}` : ''
  return (
    <div className="burn-box" ref={box}>
      <svg className="burn" width={width} height={HEIGHT} role="img" aria-label={`Used ${amountText(metric, last)}${limit === null ? '' : ` of ${amountText(metric, limit)}`} in ${points.length} rows${said}`}>
        <Axes metric={metric} top={top} from={from} to={to} width={width} x={x} y={y} />
        <path className="burn-area" d={`${path}L${x(until)} ${y(0)}L${x(from)} ${y(0)}Z`} />
        <path className="burn-line" d={path} />
        {threshold ? <Rule steps={limits} share={threshold / 100} end={width - RIGHT} kind="threshold" text={`warns at ${threshold} %`} x={x} y={y} /> : null}
        <Rule steps={limits} share={1} end={width - RIGHT} kind="limit" text={`limit ${amountText(metric, limit)}`} x={x} y={y} />
        {marks.map((mark) => (
          <g key={`${mark.kind}${mark.at}`} className={`burn-mark ${mark.kind}`}>
            <title>{`${mark.text}, ${new Date(mark.at).toISOString().slice(0, 16).replace('T', ' ')} UTC`}</title>
            <line x1={x(mark.at)} x2={x(mark.at)} y1={TOP} y2={HEIGHT - BOTTOM} /><path d={`M${x(mark.at) - 5} ${TOP - 6}h10l-5 8z`} />
          </g>
        ))}
        {end && (
          <g className="burn-mark end"><line x1={x(to)} x2={x(to)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text x={x(to)} y={14} textAnchor="end">{to > now ? 'resets' : 'ended'} {end.slice(5, 16).replace('T', ' ')} UTC</text></g>
        )}
      </svg>
    </div>
  )
}

function Axes({ metric, top, from, to, width, x, y }: { metric: string; top: number; from: number; to: number; width: number; x: Scale; y: Scale }) {
  return (
    <>
      <text x={LEFT - 8} y={14} textAnchor="end">{metric === 'spend' ? 'dollars' : 'tokens'}</text>
      {amountTicks(top).map((amount) => (
        <g key={amount} className="burn-tick"><line x1={LEFT} x2={width - RIGHT} y1={y(amount)} y2={y(amount)} /><text x={LEFT - 8} y={y(amount) + 4} textAnchor="end">{amountText(metric, amount, true)}</text></g>
      ))}
      {timeTicks(from, to, Math.max(2, Math.floor((width - LEFT) / LABEL))).map((tick) => (
        <g key={tick.at} className="burn-tick time"><line x1={x(tick.at)} x2={x(tick.at)} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM + 5} /><text x={x(tick.at)} y={HEIGHT - 7} textAnchor={x(tick.at) > width - 40 ? 'end' : 'middle'}>{tick.text}</text></g>
      ))}
    </>
  )
}

interface RuleProps {
  steps: readonly LimitStep[]
  share: number
  end: number
  kind: 'limit' | 'threshold'
  text: string
  x: Scale
  y: Scale
}

/** So much room the words at a line want; a shorter last piece has them at its end. */
const WORDS = 130

/** A part of the limit over time: what is written stands at the piece that holds now. */
function Rule({ steps, share, end, kind, text, x, y }: RuleProps) {
  const last = steps.at(-1)
  if (!last || last.limit === null) return null
  const from = x(last.at)
  const fits = end - from > WORDS
  const at = y(last.limit * share)
  return (
    <g className={`burn-rule ${kind}`}>
      <path d={ruled(steps, share, end, x, y)} />
      <text x={fits ? from + 6 : end - 4} textAnchor={fits ? 'start' : 'end'} y={kind === 'limit' ? at - 4 : at + 13}>{text}</text>
    </g>
  )
}

/** A line that steps at each change; it begins where a limit is known. */
export function ruled(steps: readonly LimitStep[], share: number, end: number, x: Scale, y: Scale): string {
  let path = ''
  steps.forEach(({ at, limit }, i) => {
    if (limit === null) return
    const to = i + 1 < steps.length ? x(steps[i + 1]!.at) : end
    path += `${path ? 'L' : 'M'}${x(at).toFixed(1)} ${y(limit * share).toFixed(1)}L${to.toFixed(1)} ${y(limit * share).toFixed(1)}`
  })
  return path
}

function stepped(points: readonly Point[], before: number, from: number, until: number, x: Scale, y: Scale): string {
  let path = `M${x(from)} ${y(before)}`
  let last = before
  for (const point of points) {
    path += `L${x(point.at).toFixed(1)} ${y(last).toFixed(1)}L${x(point.at).toFixed(1)} ${y(point.total).toFixed(1)}`
    last = point.total
  }
  return `${path}L${x(until).toFixed(1)} ${y(last).toFixed(1)}`
}

// Usage over the period, as a stepped line, with the threshold and the limit.
import { amountText } from '../lib/money'
import type { Point } from './rows'

interface Props {
  points: readonly Point[]
  metric: string
  limit: number | null
  threshold: number | null
  start: string
  end: string | null
}

const WIDTH = 640
const HEIGHT = 120

export function Burn({ points, metric, limit, threshold, start, end }: Props) {
  if (!points.length) return null
  const from = start ? Date.parse(start) : points[0]!.at
  const to = end ? Math.min(Date.parse(end), Math.max(Date.now(), points.at(-1)!.at)) : points.at(-1)!.at
  const top = Math.max(limit ?? 0, points.at(-1)!.total, 1) * 1.08
  const x = (at: number) => (Math.max(0, Math.min(1, (at - from) / Math.max(1, to - from))) * WIDTH).toFixed(1)
  const y = (amount: number) => (HEIGHT - (amount / top) * HEIGHT).toFixed(1)
  let path = `M0 ${HEIGHT}`
  let last = 0
  for (const point of points) {
    path += `L${x(point.at)} ${y(last)}L${x(point.at)} ${y(point.total)}`
    last = point.total
  }
  path += `L${WIDTH} ${y(last)}`
  return (
    <svg className="burn" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
      aria-label={`Used ${amountText(metric, last)}${limit === null ? '' : ` of ${amountText(metric, limit)}`} in ${points.length} rows`}>
      <path className="burn-area" d={`${path}L${WIDTH} ${HEIGHT}Z`} />
      <path className="burn-line" d={path} />
      {limit !== null && threshold ? <line className="burn-threshold" x1="0" x2={WIDTH} y1={y((limit * threshold) / 100)} y2={y((limit * threshold) / 100)} /> : null}
      {limit !== null && <line className="burn-limit" x1="0" x2={WIDTH} y1={y(limit)} y2={y(limit)} />}
    </svg>
  )
}

// A long list of which only what is on the screen is drawn.
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { offsets, visible } from '../timeline/window'

interface Props {
  count: number
  height(index: number): number
  draw(index: number): ReactNode
  /** Changes whenever heights may have changed. */
  version: unknown
  label: string
  role?: string
  head?: ReactNode
  follow?: boolean
  /** The row to keep in sight when it changes. */
  at?: number
  /** What the list is opened at: its row comes to the top when it is first there, and whenever this changes. */
  begin?: { key: string; at: number }
  className?: string
  onKeyDown?(event: React.KeyboardEvent): void
  active?: string
  cols?: number
}

export function Virtual({ count, height, draw, version, label, role = 'list', head, follow, at = -1, begin, className = '', onKeyDown, active, cols }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const atEnd = useRef(true)
  const sums = useMemo(() => {
    const heights = new Float64Array(count)
    for (let i = 0; i < count; i += 1) heights[i] = height(i)
    return offsets(heights)
    // `height` is a pure function of what `version` stands for.
  }, [count, version])
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight })
    const watch = new ResizeObserver(measure)
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  const begun = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (!begin || begin.at < 0 || begin.at >= count || begun.current === begin.key || !box.current) return
    begun.current = begin.key
    box.current.scrollTop = sums.starts[begin.at]!
  }, [begin, count, sums])
  useLayoutEffect(() => {
    if (follow && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [follow, sums.total])
  useLayoutEffect(() => {
    const element = box.current
    if (!element || at < 0 || at >= count) return
    const top = sums.starts[at]!
    const headHeight = head ? 28 : 0
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + height(at) + headHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + height(at) + headHeight - element.clientHeight + 8
  }, [at])
  const { from, to } = visible(sums, view.top, view.height)
  const rows: ReactNode[] = []
  for (let i = from; i < to; i += 1) rows.push(draw(i))
  return (
    <div ref={box} className={`virtual ${className}`} tabIndex={0} role={role} aria-label={label} aria-rowcount={role === 'treegrid' ? count : undefined} aria-colcount={cols} aria-activedescendant={active} onKeyDown={onKeyDown}
      onScroll={(e) => {
        const b = e.currentTarget
        atEnd.current = b.scrollHeight - b.scrollTop - b.clientHeight < 40
        setView({ top: b.scrollTop, height: b.clientHeight })
      }}>
      {head}
      <div className="virtual-all" role="presentation" style={{ height: sums.total }}>
        <div className="virtual-part" role="presentation" style={{ transform: `translateY(${sums.starts[from] ?? 0}px)` }}>{rows}</div>
      </div>
    </div>
  )
}

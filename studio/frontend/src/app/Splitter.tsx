// A bar between panels that a pointer drags and arrows move.
import { useRef } from 'react'

interface Props {
  axis: 'x' | 'y'
  value: number
  min: number
  max: number
  label: string
  onChange(value: number): void
}

/** The panel lies after the bar, so that moving the bar back makes it larger. */
export function Splitter({ axis, value, min, max, label, onChange }: Props) {
  const start = useRef<{ at: number; value: number } | null>(null)
  const clamp = (n: number) => Math.round(Math.min(max, Math.max(min, n)))
  const at = (event: React.PointerEvent) => (axis === 'x' ? event.clientX : event.clientY)
  return (
    <div className={`splitter ${axis}`} role="separator" tabIndex={0} aria-label={label} aria-orientation={axis === 'x' ? 'vertical' : 'horizontal'} aria-valuenow={value} aria-valuemin={min} aria-valuemax={max}
      onPointerDown={(e) => { start.current = { at: at(e), value }; e.currentTarget.setPointerCapture(e.pointerId) }}
      onPointerMove={(e) => { if (start.current) onChange(clamp(start.current.value + start.current.at - at(e))) }}
      onPointerUp={() => { start.current = null }}
      onKeyDown={(e) => {
        const larger = axis === 'x' ? 'ArrowLeft' : 'ArrowUp'
        const smaller = axis === 'x' ? 'ArrowRight' : 'ArrowDown'
        if (e.key !== larger && e.key !== smaller) return
        e.preventDefault()
        onChange(clamp(value + (e.key === larger ? 20 : -20)))
      }} />
  )
}

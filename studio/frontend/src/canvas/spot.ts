// Where a new node goes: beside the selected one, never on top of another, and in sight.
import type { ReactFlowInstance } from '@xyflow/react'
import type { NodeType } from '../api/types'
import type { CanvasNode } from '../state/document'

export interface Spot { x: number; y: number }

export const FIT = { padding: 0.12, maxZoom: 1 }
const CARD = { width: 220, height: 160 }
const PILL = { width: 180, height: 50 }
const APART = 60
const MARGIN = 20
const STEP = 40

const round = (at: Spot): Spot => ({ x: Math.round(at.x / 10) * 10, y: Math.round(at.y / 10) * 10 })
const sizeOf = (node: CanvasNode) => ({ width: node.measured?.width ?? (node.type === 'pill' ? PILL : CARD).width, height: node.measured?.height ?? (node.type === 'pill' ? PILL : CARD).height })

/** The wanted place, or the first below it where nothing lies. Groups may have nodes in them. */
export function freeSpot(nodes: readonly CanvasNode[], type: NodeType, wanted: Spot): Spot {
  const spot = round(wanted)
  const { width, height } = type.attachment ? PILL : CARD
  const taken = nodes.filter((node) => node.type !== 'frame').map((node) => ({ ...node.position, ...sizeOf(node) }))
  const lies = () => taken.some((other) => spot.x < other.x + other.width + MARGIN && other.x < spot.x + width + MARGIN && spot.y < other.y + other.height + MARGIN && other.y < spot.y + height + MARGIN)
  for (let i = 0; i < 200 && lies(); i += 1) spot.y += STEP
  return spot
}

/** Beside the one selected node: a card to its right, what is attached below it. Null where none or several are. */
export function beside(nodes: readonly CanvasNode[], type: NodeType): Spot | null {
  const chosen = nodes.filter((node) => node.selected)
  if (chosen.length !== 1 || (chosen[0]!.type !== 'card' && chosen[0]!.type !== 'pill')) return null
  const node = chosen[0]!
  const { x, y } = node.position
  const { width, height } = sizeOf(node)
  return type.attachment && node.type === 'card' ? { x, y: y + height + APART } : { x: x + width + APART, y }
}

/** Show all where the new node would lie out of sight. */
export function bringIntoView(canvas: ReactFlowInstance, at: Spot): void {
  const pane = document.querySelector('.react-flow__pane')?.getBoundingClientRect()
  if (!pane) return
  const from = canvas.flowToScreenPosition(at)
  const to = canvas.flowToScreenPosition({ x: at.x + CARD.width, y: at.y + CARD.height })
  const seen = from.x >= pane.left && from.y >= pane.top && to.x <= pane.right && to.y <= pane.bottom
  // Twice: only a drawn card has a size.
  if (!seen) requestAnimationFrame(() => requestAnimationFrame(() => void canvas.fitView(FIT)))
}

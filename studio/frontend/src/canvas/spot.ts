// Where a new node goes: beside the selected one, never on top of another, and in sight.
import type { ReactFlowInstance } from '@xyflow/react'
import type { NodeType } from '../api/types'
import type { CanvasNode } from '../state/document'

export interface Spot { x: number; y: number }

/** The whole flow, beside the buttons at the lower left. */
export const FIT = { padding: { left: '64px', right: '36px', top: '36px', bottom: '36px' }, maxZoom: 1 } as const
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

/** Beside the one selected node: a card to its right, what is attached below it. A card does not stand among what is
 * attached: after that it goes to the right of the last card. Null where no node or several are selected. */
export function beside(nodes: readonly CanvasNode[], type: NodeType): Spot | null {
  const chosen = nodes.filter((node) => node.selected)
  if (chosen.length !== 1 || (chosen[0]!.type !== 'card' && chosen[0]!.type !== 'pill')) return null
  const node = chosen[0]!
  const { x, y } = node.position
  const { width, height } = sizeOf(node)
  if (!type.attachment && node.type === 'pill') {
    const right = (card: CanvasNode) => card.position.x + sizeOf(card).width
    const last = nodes.filter((each) => each.type === 'card').reduce<CanvasNode | null>((best, each) => (best && right(best) >= right(each) ? best : each), null)
    if (last) return { x: right(last) + APART, y: last.position.y }
  }
  return type.attachment && node.type === 'card' ? { x, y: y + height + APART } : { x: x + width + APART, y }
}

/** The places of nodes in the order in which a flow is read, from left to right and downwards. Frames lie behind all. */
export function ranks(nodes: readonly CanvasNode[]): ReadonlyMap<string, number> {
  const behind = (node: CanvasNode) => (node.type === 'frame' ? 0 : 1)
  const sorted = [...nodes].sort((a, b) => behind(a) - behind(b) || a.position.x - b.position.x || a.position.y - b.position.y)
  return new Map(sorted.map((node, i) => [node.id, i]))
}

type Screen = Pick<ReactFlowInstance, 'flowToScreenPosition'>

/** Whether a card at this place is seen whole. */
export function inSight(canvas: Screen, at: Spot): boolean {
  const pane = document.querySelector('.react-flow__pane')?.getBoundingClientRect()
  if (!pane) return true
  const from = canvas.flowToScreenPosition(at)
  const to = canvas.flowToScreenPosition({ x: at.x + CARD.width, y: at.y + CARD.height })
  return from.x >= pane.left && from.y >= pane.top && to.x <= pane.right && to.y <= pane.bottom
}

/** Show all where the new node would lie out of sight. */
export function bringIntoView(canvas: ReactFlowInstance, at: Spot): void {
  const seen = inSight(canvas, at)
  // Twice: only a drawn card has a size.
  if (!seen) requestAnimationFrame(() => requestAnimationFrame(() => void canvas.fitView(FIT)))
}

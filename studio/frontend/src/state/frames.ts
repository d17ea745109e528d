// Groups: titled frames behind nodes. What lies inside moves along; a frame never changes a run.
import type { Node } from '@xyflow/react'
import type { Obj } from '../api/types'

export interface FrameData extends Record<string, unknown> {
  title: string
  rest?: Obj
}

export type FrameNode = Node<FrameData, 'frame'>

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

interface Placed {
  id: string
  type?: string
  position: { x: number; y: number }
  width?: number
  height?: number
  measured?: { width?: number; height?: number }
}

const PADDING = 30
const TITLE = 34
const LIKELY = { width: 220, height: 96 }

export const boxOf = (node: Placed): Box => ({
  ...node.position, width: node.width ?? node.measured?.width ?? LIKELY.width, height: node.height ?? node.measured?.height ?? LIKELY.height,
})

/** The nodes whose middle lies in the frame. */
export function membersOf<N extends Placed>(frame: Placed, nodes: readonly N[]): N[] {
  const at = boxOf(frame)
  return nodes.filter((node) => {
    if (node.id === frame.id || node.type === 'frame') return false
    const box = boxOf(node)
    const x = box.x + box.width / 2
    const y = box.y + box.height / 2
    return x >= at.x && x <= at.x + at.width && y >= at.y && y <= at.y + at.height
  })
}

/** The frame that holds these nodes with room for its title; null around nothing. */
export function around(nodes: readonly Placed[]): Box | null {
  if (!nodes.length) return null
  const boxes = nodes.map(boxOf)
  const x = Math.min(...boxes.map((box) => box.x)) - PADDING
  const y = Math.min(...boxes.map((box) => box.y)) - PADDING - TITLE
  return {
    x, y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) + PADDING - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) + PADDING - y,
  }
}

export function makeFrame(id: string, frame: Obj): FrameNode {
  const { title, x, y, width, height, id: _id, ...rest } = frame
  return {
    id: `group:${id}`, type: 'frame', zIndex: -1, dragHandle: '.frame-title', position: { x: Number(x) || 0, y: Number(y) || 0 }, width: Number(width) || 300, height: Number(height) || 200,
    data: { title: typeof title === 'string' ? title : '', rest }, ariaLabel: `Group ${typeof title === 'string' ? title : ''}`,
  }
}

export function writeFrame(node: FrameNode): Obj {
  const { x, y, width, height } = boxOf(node)
  return { ...node.data.rest, id: node.id.slice('group:'.length), title: node.data.title, x: Math.round(x), y: Math.round(y), width: Math.round(width), height: Math.round(height) }
}

/** Nodes after some were moved: those inside a moved frame go with it, unless they were moved themselves. */
export function carried<N extends Placed>(before: readonly N[], after: readonly N[], moved: ReadonlySet<string>): N[] {
  const shifts = new Map<string, { x: number; y: number }>()
  for (const frame of before) {
    if (frame.type !== 'frame' || !moved.has(frame.id)) continue
    const now = after.find((node) => node.id === frame.id)
    if (!now) continue
    const shift = { x: now.position.x - frame.position.x, y: now.position.y - frame.position.y }
    for (const member of membersOf(frame, before)) if (!moved.has(member.id)) shifts.set(member.id, shift)
  }
  if (!shifts.size) return [...after]
  const starts = new Map(before.map((node) => [node.id, node.position]))
  return after.map((node) => {
    const shift = shifts.get(node.id)
    const start = starts.get(node.id)
    return shift && start ? { ...node, position: { x: start.x + shift.x, y: start.y + shift.y } } : node
  })
}

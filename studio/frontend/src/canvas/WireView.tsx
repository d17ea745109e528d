// An edge: messages solid, attachments thin and dotted; it moves while what it leads to runs.
import { BaseEdge, type EdgeProps, getBezierPath } from '@xyflow/react'
import { memo } from 'react'
import type { Wire } from '../state/document'
import { useRun } from '../state/run'

export const WireView = memo(function WireView(p: EdgeProps<Wire>) {
  const [path] = getBezierPath(p)
  const kind = p.data?.kind ?? 'message'
  const live = useRun((s) => kind === 'message' && s.nodes[p.target]?.state === 'running')
  return <BaseEdge path={path} interactionWidth={16} className={`wire ${kind === 'message' ? 'message' : 'attachment'}${live ? ' live' : ''}`} data-kind={kind} />
})

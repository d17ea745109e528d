// The timeline of the session at hand; its selection is the canvas's too.
import { useEffect } from 'react'
import { useFlow } from '../state/flow'
import { useRun } from '../state/run'
import { useUi } from '../state/ui'
import { TimelineView } from '../timeline/TimelineView'

export function TimelineTab() {
  const timeline = useRun((s) => s.timeline)
  const version = useRun((s) => s.version)
  const live = useRun((s) => s.status === 'running')
  const run = useRun((s) => s.runId)
  const row = useUi((s) => s.row)
  const set = useUi((s) => s.set)
  const selected = useFlow((s) => s.nodes.find((n) => n.selected)?.id ?? null)
  // A node chosen on the canvas brings its row into sight.
  useEffect(() => {
    if (!selected) return
    const rows = useRun.getState().timeline.rows()
    if (rows.find((each) => each.seq === useUi.getState().row)?.node === selected) return
    const found = rows.findLast((each) => each.node === selected && each.kind === 'node')
    if (found) set({ row: found.seq })
  }, [selected, set])
  if (!timeline.top.length) return <p className="pad muted">Nothing has run yet. Press Run, and each step appears here with its time, tokens and cost.</p>
  return (
    <TimelineView timeline={timeline} version={version} live={live} selected={row} node={selected} begin={run}
      onSelect={(each) => {
        set({ row: each?.seq ?? null })
        const id = each?.node?.split('/')[0]
        if (id && useFlow.getState().nodes.some((n) => n.id === id)) useFlow.getState().select([id])
      }} />
  )
}

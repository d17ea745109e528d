// Which rows are shown: by kind, by level, by text, and without what is folded away. Ancestors of a hit stay.
import type { Row, RowKind } from './row'

export interface RowFilter {
  kinds: ReadonlySet<RowKind>
  level: 'all' | 'problems'
  text: string
  folded: ReadonlySet<number>
  run: string | null
}

const PROBLEMS = new Set<RowKind>(['warning', 'stop', 'error'])
const BAD = new Set(['failed', 'stopped', 'interrupted'])

export function matches(row: Row, filter: RowFilter): boolean {
  if (filter.kinds.size && !filter.kinds.has(row.kind)) return false
  if (filter.level === 'problems' && !PROBLEMS.has(row.kind) && !BAD.has(row.state)) return false
  if (!filter.text) return true
  const wanted = filter.text.toLowerCase()
  return [row.what, row.text, row.node, row.model, row.code].some((each) => each?.toLowerCase().includes(wanted))
}

export function shown(rows: readonly Row[], filter: RowFilter): Row[] {
  const searching = filter.kinds.size > 0 || filter.level !== 'all' || filter.text !== ''
  const kept = searching ? withAncestors(rows, filter) : null
  const found: Row[] = []
  let hiddenBelow = Infinity
  for (const row of rows) {
    if (row.depth > hiddenBelow) continue
    hiddenBelow = Infinity
    if (filter.run && row.run !== filter.run) continue
    if (kept && !kept.has(row)) continue
    found.push(row)
    if (filter.folded.has(row.seq)) hiddenBelow = row.depth
  }
  return found
}

function withAncestors(rows: readonly Row[], filter: RowFilter): Set<Row> {
  const kept = new Set<Row>()
  for (const row of rows) {
    if (!matches(row, filter)) continue
    for (let each: Row | null = row; each && !kept.has(each); each = each.parent) kept.add(each)
  }
  return kept
}

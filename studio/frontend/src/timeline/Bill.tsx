// The bill of a context: each section's share of the tokens as a bar, its items, and what was left out and why.
import type { Event } from '../api/types'
import { count } from '../lib/money'
import { plural } from '../lib/text'

interface Item {
  ref: string
  tokens: number
  score?: number | null
  source?: string | null
  why?: string | null
}

interface Section {
  name: string
  tokens: number
  items?: Item[]
  first?: number | null
  count?: number | null
}

export function Bill({ event }: { event: Event }) {
  const sections = ((event.sections as Section[]) ?? []).filter((section) => section.tokens > 0 || section.items?.length)
  const total = Number(event.tokens ?? 0) || sections.reduce((sum, section) => sum + section.tokens, 0)
  const window = event.window as number | null
  const out = (event.left_out as Item[]) ?? []
  const outCount = Number(event.left_out_count ?? out.length)
  return (
    <section className="bill">
      <h3>The context: {count(total)} tokens{window ? ` of ${count(window)}` : ''}</h3>
      <div className="bill-bar" role="img" aria-label={sections.map((section) => `${section.name} ${section.tokens} tokens`).join(', ')}>
        {sections.map((section, i) => <span key={i} data-part={i % 6} style={{ width: `${total ? (section.tokens / total) * 100 : 0}%` }} title={`${section.name}: ${count(section.tokens)} tokens`} />)}
      </div>
      <ul>
        {sections.map((section, i) => (
          <li key={i}>
            <details>
              <summary><span className="bill-key" data-part={i % 6} />{section.name.replace(/_/g, ' ')}<span className="num">{count(section.tokens)}</span></summary>
              {section.count != null && <p className="muted">{plural(section.count, 'message')} from number {section.first ?? 0}</p>}
              <Items items={section.items ?? []} />
            </details>
          </li>
        ))}
      </ul>
      {outCount > 0 && (
        <details><summary>Left out: {outCount}</summary><Items items={out} />{outCount > out.length && <p className="muted">and {outCount - out.length} more</p>}</details>
      )}
    </section>
  )
}

function Items({ items }: { items: readonly Item[] }) {
  if (!items.length) return null
  return (
    <table className="bill-items">
      <thead><tr><th>Item</th><th className="num">Tokens</th><th className="num">Score</th><th>Why or from</th></tr></thead>
      <tbody>{items.map((item, i) => <tr key={i}><td dir="auto">{item.ref}</td><td className="num">{count(item.tokens)}</td><td className="num">{item.score == null ? '' : item.score.toFixed(3)}</td><td>{item.why ?? item.source ?? ''}</td></tr>)}</tbody>
    </table>
  )
}

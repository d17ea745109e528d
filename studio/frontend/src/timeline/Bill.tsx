// The bill of a model call: a bar of the window, each part and item with tokens, score and money, and what was left out.
import { api } from '../api/client'
import type { BillDoc, BillItem, BillPart, Event } from '../api/types'
import { Failure } from '../app/Failure'
import { useLoad } from '../app/useLoad'
import { count, dollars, nanosOf } from '../lib/money'
import { plural, words } from '../lib/text'
import { slices } from './slices'

/** `event` is the call's `model.called`; `version` changes once the call has ended. */
export function Bill({ event, version }: { event: Event; version: string }) {
  const bill = useLoad(() => api.bill(event.session_uid, event.seq), `${event.session_uid}|${event.seq}|${version}`)
  if (bill.error !== null) return <Failure error={bill.error} retry={bill.reload} />
  if (!bill.data) return <p className="muted" role="status">Adding up what was sent…</p>
  return <Whole bill={bill.data} />
}

function Whole({ bill }: { bill: BillDoc }) {
  if (!bill.complete) return <section className="bill"><h3>The context</h3><p className="muted">The timeline has no bill of this call.</p></section>
  const shown = bill.parts.filter((part) => part.tokens > 0 || part.items.length)
  const bar = slices(bill)
  return (
    <section className="bill" aria-label="The context">
      <h3>The context: {count(bill.tokens)} tokens{bill.window ? ` of ${count(bill.window)}` : ', by our count'}</h3>
      <div className="bill-bar" role="img" aria-label={bar.map((slice) => `${slice.name} ${count(slice.tokens)} tokens`).join(', ')}>
        {bar.map((slice) => (
          <span key={slice.id} className={slice.kind} data-part={slice.kind === 'part' ? slice.colour : undefined} style={{ width: `${slice.percent}%` }} title={`${slice.name}: ${count(slice.tokens)} tokens`}>
            {slice.cached > 0 && <i className="bill-cached" style={{ width: `${slice.cached * 100}%` }} />}
          </span>
        ))}
      </div>
      <ul>{shown.map((part, i) => <li key={i}><Part part={part} colour={bill.parts.indexOf(part) % 6} /></li>)}</ul>
      {bill.window !== null && (
        <dl className="bill-rest">
          <div><dt><span className="bill-key buffer" />kept for the answer</dt><dd className="num">{count(bill.output_buffer ?? 0)}</dd></div>
          <div><dt><span className="bill-key free" />free</dt><dd className="num">{count(Math.max(0, bill.window - bill.tokens - (bill.output_buffer ?? 0)))}</dd></div>
        </dl>
      )}
      {bill.usage && (
        <p className="muted">The provider counted {count(bill.usage.input ?? 0)} tokens in{bill.usage.cached ? `, ${count(bill.usage.cached)} of them from its cache` : ''}, and {count(bill.answer_tokens)} out{bill.cost === null ? '; what it cost is unknown' : `; ${dollars(nanosOf(bill.cost), 9)} in all${bill.answer_cost ? `, ${dollars(nanosOf(bill.answer_cost), 9)} of it for the answer` : ''}`}.{bill.cost !== null && !bill.priced ? ' No price of a token is known, so the cost is shared by tokens.' : ''}</p>
      )}
      {bill.gave_way.length > 0 && <GaveWay bill={bill} />}
      {bill.left_out_count > 0 && (
        <details open><summary>Left out: {count(bill.left_out_count)}</summary><Items items={bill.left_out} more={bill.left_out_count - bill.left_out.length} last="Why" /></details>
      )}
    </section>
  )
}

/** What the window took, stage by stage. */
function GaveWay({ bill }: { bill: BillDoc }) {
  return (
    <details open>
      <summary>Gave way to fit into {count((bill.window ?? 0) - (bill.output_buffer ?? 0))} tokens</summary>
      <table className="bill-items">
        <thead><tr><th>Stage</th><th className="num">Items</th><th className="num">Before</th><th className="num">After</th></tr></thead>
        <tbody>{bill.gave_way.map((each) => <tr key={each.stage}><td>{each.stage} · {each.name}</td><td className="num">{count(each.items)}</td><td className="num">{count(each.before)}</td><td className="num">{count(each.after)}</td></tr>)}</tbody>
      </table>
    </details>
  )
}

/** Always six decimals, rounded up, so that a column of them lines up. */
const aligned = (cost: string) => `$${(Math.ceil((nanosOf(cost) ?? 0) / 1000) / 1e6).toFixed(6)}`

function Part({ part, colour }: { part: BillPart; colour: number }) {
  const head = (
    <>
      <span className="bill-key" data-part={colour} />
      <span className="bill-name">{words(part.name)}{part.messages ? <small className="muted"> {plural(part.messages, 'message')}</small> : part.items.length > 0 && <small className="muted"> {plural(part.items.length + part.more, 'item')}</small>}</span>
      {part.cached > 0.005 && <span className="tag">{Math.round(part.cached * 100)} % cached</span>}
      <span className="num">{count(part.tokens)}</span>
      <span className={part.cost === null ? 'num bill-cost unknown' : 'num bill-cost'}>{part.cost === null ? 'unknown' : aligned(part.cost)}</span>
    </>
  )
  if (!part.items.length) return <div className="bill-line">{head}</div>
  return <details open={part.items.length <= 8}><summary className="bill-line">{head}</summary><Items items={part.items} more={part.more} last="From" /></details>
}

export function Items({ items, more, last }: { items: readonly BillItem[]; more: number; last: string }) {
  return (
    <>
      <table className="bill-items">
        <thead><tr><th>Item</th><th className="num">Tokens</th><th className="num">Score</th><th>{last}</th></tr></thead>
        <tbody>{items.map((item, i) => <tr key={i}><td dir="auto">{item.ref}</td><td className="num">{item.tokens ? count(item.tokens) : ''}</td><td className="num">{item.score === null ? '' : item.score.toFixed(3)}</td><td>{[item.source, item.why && words(item.why)].filter(Boolean).join(' · ')}</td></tr>)}</tbody>
      </table>
      {more > 0 && <p className="muted">and {count(more)} more</p>}
    </>
  )
}

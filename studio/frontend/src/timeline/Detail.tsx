// The details of a row: rendered, compact, raw; what the model was sent and the bill of it.
import { useState } from 'react'
import type { Event, Gauge, Usage } from '../api/types'
import { GaugeBar, gaugeText } from '../app/GaugeBar'
import { Icon } from '../app/icons'
import { PlainText } from '../app/Link'
import { sourceText } from '../budgets/rows'
import { HelpText } from '../inspector/HelpText'
import { count, dollars } from '../lib/money'
import { shortJson, words } from '../lib/text'
import { duration, instant } from '../lib/time'
import { Bill } from './Bill'
import type { Row } from './row'
import { rowName } from './RowLine'
import { StepFacts } from './StepFacts'

type View = 'rendered' | 'facts' | 'compact' | 'raw'
const VIEWS: View[] = ['rendered', 'facts', 'compact', 'raw']

export function Detail({ row, onClose }: { row: Row; version: number; onClose(): void }) {
  const [view, setView] = useState<View>('rendered')
  return (
    <aside className="detail" aria-label="Details of the step">
      <header>
        <h2 dir="auto">{rowName(row)}</h2>
        <div role="group" aria-label="View" className="segments">
          {VIEWS.map((each) => <button key={each} type="button" aria-pressed={view === each} onClick={() => setView(each)}>{words(each)}</button>)}
        </div>
        <button type="button" className="icon-button" onClick={onClose} aria-label="Close the details"><Icon name="close" /></button>
      </header>
      <div className="detail-body" tabIndex={0} role="region" aria-label="Step">
        {view === 'raw' ? <pre dir="auto">{row.events.map((event) => JSON.stringify(event, null, 2)).join('\n')}</pre>
          : view === 'compact' ? <Compact row={row} /> : view === 'facts' ? <StepFacts row={row} /> : <Rendered row={row} />}
      </div>
    </aside>
  )
}

function Compact({ row }: { row: Row }) {
  return (
    <ul className="compact">
      {row.events.map((event, i) => (
        <li key={i}><strong>{event.type}</strong> {Object.entries(event).filter(([n, v]) => !['session_uid', 'type', 'run_id', 'node_id', 'v', 'at'].includes(n) && v !== null && v !== '').map(([n, v]) => `${n}=${shortJson(v)}`).join(' ')}</li>
      ))}
    </ul>
  )
}

const find = (row: Row, type: string) => row.events.findLast((event) => event.type === type)

/** What a row says of its failure; a run's row shows what was asked instead. */
const failed = (row: Row) => (row.kind === 'run' ? (find(row, 'run.finished')?.error as { message?: string } | null)?.message ?? row.text : row.text)

function Rendered({ row }: { row: Row }) {
  const sent = find(row, 'model.called')
  const tool = find(row, 'tool.request')
  const answer = find(row, 'tool.response')
  const output = find(row, 'node.finished')
  const started = find(row, 'run.started')
  const finished = find(row, 'run.finished')
  return (
    <>
      <Facts row={row} />
      {row.gauge && <section><h3>Budget</h3><GaugeLine gauge={row.gauge} /></section>}
      {row.code && failed(row) && <div className="notice bad"><Icon name="error" /><div><strong dir="auto">{failed(row)}</strong>{row.remedy && <p><HelpText text={row.remedy} /></p>}<code>{row.code}</code></div></div>}
      {tool && <Section title="Arguments"><Structured value={tool.arguments} /></Section>}
      {answer && <Section title={answer.error ? 'Error' : 'Result'}><Structured value={answer.error ?? answer.result} /></Section>}
      {started && <Section title="Input"><Structured value={started.input} /></Section>}
      {row.kind === 'node' && row.text && !row.code && <Section title="Asked"><p><PlainText text={row.text} /></p></Section>}
      {row.kind === 'call' && row.text && !row.code && <Section title="Answer"><Answer row={row} /></Section>}
      {(row.kind === 'memory' || row.kind === 'note' || row.kind === 'admin') && <Section title="What"><p><PlainText text={row.text} /></p></Section>}
      {output && <Section title={`Output${output.port && output.port !== 'out' ? ` on ${String(output.port)}` : ''}`}><Structured value={output.output} /></Section>}
      {finished && Object.entries((finished.outputs as Record<string, unknown>) ?? {}).map(([name, value]) => <Section key={name} title={`Output ${name}`}><Structured value={value} /></Section>)}
      {sent && <Bill event={sent} version={find(row, 'agent.usage') ? 'ended' : 'open'} />}
      {sent && <Sent event={sent} />}
      {row.gauges.length > 0 && <Section title="Budgets after it">{row.gauges.map((gauge, i) => <GaugeLine key={i} gauge={gauge} />)}</Section>}
    </>
  )
}

/** The whole text, which the event has and the row may have cut. */
function Answer({ row }: { row: Row }) {
  const event = find(row, 'agent.response')
  return <p><PlainText text={String(event?.text || row.text)} /></p>
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
  return <section><h3>{title}</h3>{children}</section>
}

export function Structured({ value }: { value: unknown }) {
  if (value === null || value === undefined || value === '') return <p className="muted">empty</p>
  if (typeof value === 'string') {
    const parsed = /^\s*[[{]/.test(value) ? safeParse(value) : undefined
    return parsed === undefined ? <p><PlainText text={value} /></p> : <pre dir="auto">{JSON.stringify(parsed, null, 2)}</pre>
  }
  return <pre dir="auto">{JSON.stringify(value, null, 2)}</pre>
}

function safeParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function GaugeLine({ gauge }: { gauge: Gauge }) {
  return <div className="gauge-line"><strong>{gauge.budget}</strong><GaugeBar gauge={gauge} /><span>{gaugeText(gauge)}</span>{gauge.field && <span className="muted"><HelpText text={gauge.field} /></span>}</div>
}

function Facts({ row }: { row: Row }) {
  const usage: Usage = row.usage ?? {}
  const lines: [string, string][] = [
    ['State', row.state], ['At', `${instant(new Date(row.at).toISOString())} UTC`], ['Took', row.ms === null ? '' : duration(row.ms)],
    ['Waited', row.waited ? duration(row.waited) : ''], ['Model', row.model ?? ''], ['Node', row.node ?? ''], ['Step', row.step === null ? '' : String(row.step)],
    ['Input', row.usage ? `${count(usage.input ?? 0)} tokens${usage.cached ? `, ${count(usage.cached)} cached` : ''}${usage.cache_write ? `, ${count(usage.cache_write)} written to the cache` : ''}` : ''],
    ['Output', row.usage ? `${count(usage.output ?? 0)} tokens${usage.reasoning ? `, ${count(usage.reasoning)} reasoning` : ''}` : ''],
    ['Cost', row.usage ? `${row.unknown && row.cost !== null ? 'at least ' : ''}${dollars(row.cost, 9)}${row.estimated ? ' (estimated)' : ''}` : ''],
    ['Cost from', sourceText(String(find(row, 'agent.usage')?.cost_source ?? ''))],
  ]
  return <dl className="facts">{lines.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
}

interface Said {
  role?: string
  content?: string | null
  tool_calls?: { name?: string; arguments?: string; function?: { name: string; arguments: string } }[]
  tool_call_id?: string
}

function Sent({ event }: { event: Event }) {
  const messages = (event.messages as Said[]) ?? []
  const kept = Number(event.kept ?? 0)
  const tools = (event.tools as string[]) ?? []
  return (
    <section>
      <h3>What the model was sent</h3>
      {kept > 0 && <p className="muted">{count(kept)} earlier messages, as before, then:</p>}
      <ol className="sent">
        {messages.map((message, i) => (
          <li key={i} data-role={message.role}>
            <span className="role">{message.role}</span>
            {message.content && <PlainText text={message.content} />}
            {message.tool_calls?.map((call, j) => <code key={j}>{call.name ?? call.function?.name}({call.arguments ?? call.function?.arguments})</code>)}
          </li>
        ))}
      </ol>
      {tools.length > 0 && <p className="muted">Tools: {tools.join(', ')}</p>}
    </section>
  )
}

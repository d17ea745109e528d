// The flow as a conversation: each run is a turn. Works as well for a flow that wants a form.
import { useEffect, useRef } from 'react'
import { Icon } from '../app/icons'
import { Link, PlainText } from '../app/Link'
import { to } from '../app/router'
import { Failure } from '../app/Failure'
import { Growing } from '../inspector/Scalars'
import { SchemaForm } from '../inspector/SchemaForm'
import { count, dollars } from '../lib/money'
import { shortJson } from '../lib/text'
import { duration } from '../lib/time'
import { useCatalog } from '../state/catalog'
import { launch, useLaunch } from '../state/launch'
import { type Turn, useRun } from '../state/run'
import { useValidation } from '../state/validation'
import { tokensOf } from '../timeline/row'
import { NoticeCard } from './NoticeCard'

export function Chat() {
  return (
    <div className="chat">
      <Turns />
      <Composer />
    </div>
  )
}

function Turns() {
  const turns = useRun((s) => s.turns)
  const startError = useRun((s) => s.startError)
  const live = useRun((s) => s.status === 'running' || s.status === 'cancelling')
  const version = useRun((s) => s.version)
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  useEffect(() => {
    // Follow what comes, unless the reader has scrolled up.
    const element = box.current
    if (!atEnd.current || !element) return
    element.scrollTop = element.scrollHeight
    // A stop is read from its beginning, however low the drawer is.
    const stop = element.querySelector<HTMLElement>('.turn:last-child > .notice.stop')
    if (stop && stop.offsetTop - 8 < element.scrollTop) element.scrollTop = stop.offsetTop - 8
  }, [version, startError])
  return (
    <div className="turns" ref={box} tabIndex={0} role="log" aria-label="Conversation" aria-busy={live}
      onScroll={(e) => { const b = e.currentTarget; atEnd.current = b.scrollHeight - b.scrollTop - b.clientHeight < 40 }}>
      {!turns.length && !startError && <Welcome />}
      {turns.map((turn, i) => <TurnView key={turn.run} turn={turn} last={i === turns.length - 1} />)}
      {startError && <Failure error={startError} />}
    </div>
  )
}

function Welcome() {
  const me = useCatalog((s) => s.me)
  const asks = useValidation((s) => s.input?.title)
  const form = useValidation((s) => !!s.input?.schema)
  return (
    <div className="welcome">
      <p>{asks ? `This flow asks: ${asks}` : form ? 'Fill in the form and press Run.' : 'Type something below and press Run.'}</p>
      {me?.model.rehearsal && <p className="muted"><span className="tag rehearsal">rehearsal</span> No model is connected, so a scripted one answers and nothing is charged. <Link href="/settings">Connect a model</Link></p>}
    </div>
  )
}

function TurnView({ turn, last }: { turn: Turn; last: boolean }) {
  const running = turn.state === 'running'
  return (
    <article className="turn">
      {turn.input !== null && turn.input !== '' && <div className="bubble mine"><Value value={turn.input} /></div>}
      {turn.notices.map((event) => <NoticeCard key={event.seq} event={event} last={last} running={running} />)}
      {turn.texts.map((each, i) => <div key={i} className="bubble"><PlainText text={each.text} /></div>)}
      {running && last && <LiveBubbles />}
      {turn.outputs && Object.entries(turn.outputs).map(([name, value], _i, all) => (
        <div key={name} className="bubble">{all.length > 1 && <div className="bubble-name">{name}</div>}<Value value={value} /></div>
      ))}
      {turn.error && !turn.notices.some((n) => n.code === turn.error!.code) && (
        <div className="notice bad"><Icon name="error" /><div><strong>{turn.error.message}</strong>{turn.error.remedy && <p>{turn.error.remedy}</p>}</div></div>
      )}
      {!running && <TurnFoot turn={turn} />}
    </article>
  )
}

function TurnFoot({ turn }: { turn: Turn }) {
  const session = useRun((s) => s.session)
  const tokens = tokensOf(turn.usage)
  return (
    <footer className="turn-foot">
      {turn.rehearsal && <span className="tag rehearsal">rehearsal</span>}
      {turn.state !== 'completed' && <span className={`state ${turn.state}`}>{turn.state}</span>}
      <span>{duration(turn.ms)}</span>
      {tokens > 0 && <span>{count(tokens)} tokens</span>}
      <span>{turn.unknown ? 'at least ' : ''}{dollars(turn.cost)}</span>
      {session && <Link href={to.session(session, turn.run)}>Timeline</Link>}
    </footer>
  )
}

function LiveBubbles() {
  const nodes = useRun((s) => s.nodes)
  const live = Object.entries(nodes).filter(([, node]) => (node.state === 'running' || node.state === 'waiting') && (node.text || node.tool || node.state === 'waiting'))
  if (!live.length) return <div className="bubble live"><span className="typing" role="img" aria-label="running" /></div>
  return live.map(([id, node]) => (
    <div key={id} className="bubble live">
      <div className="bubble-name">{id}{node.tool ? ` calls ${node.tool}` : node.state === 'waiting' ? ' waits for budget' : ''}</div>
      {node.text && <PlainText text={node.text} />}
    </div>
  ))
}

/** A text as text; an object as its fields. Never HTML. */
export function Value({ value }: { value: unknown }) {
  if (typeof value === 'string') return <PlainText text={value} />
  if (value && typeof value === 'object' && !Array.isArray(value)) {
    const entries = Object.entries(value)
    if (entries.length === 1 && entries[0]![0] === 'text' && typeof entries[0]![1] === 'string') return <PlainText text={entries[0]![1]} />
    return <dl className="value">{entries.map(([name, each]) => <div key={name}><dt>{name}</dt><dd><PlainText text={shortJson(each) || '—'} /></dd></div>)}</dl>
  }
  return <PlainText text={shortJson(value) || '—'} />
}

function Composer() {
  const input = useValidation((s) => s.input)
  const { text, fields, asking, set } = useLaunch()
  const status = useRun((s) => s.status)
  const busy = asking || status === 'running' || status === 'starting' || status === 'cancelling'
  const submit = (event: React.FormEvent) => { event.preventDefault(); void launch() }
  return (
    <form className={input?.schema ? 'composer with-form' : 'composer'} onSubmit={submit}>
      {input?.schema ? (
        <SchemaForm schema={input.schema} value={fields} prefix="input" onChange={(next) => set({ fields: next })} />
      ) : (
        <Growing value={text} aria-label={input?.title || 'Input'} placeholder={input?.title || 'What do you want to ask?'} dir="auto" onChange={(e) => set({ text: e.target.value })}
          onKeyDown={(e) => { if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing && !e.ctrlKey) { e.preventDefault(); if (!busy) void launch() } }} />
      )}
      <button type="submit" className="primary" disabled={busy} title="Run (Ctrl+Enter)"><Icon name="play" /> {busy ? 'Running…' : 'Run'}</button>
    </form>
  )
}

// A warning or a stop that cannot be missed: which budget, the numbers, the reset, and what to do about it.
import { useId, useState } from 'react'
import { api } from '../api/client'
import type { Event, Gauge } from '../api/types'
import { Failure } from '../app/Failure'
import { GaugeBar, gaugeText } from '../app/GaugeBar'
import { Icon } from '../app/icons'
import { HelpText } from '../inspector/HelpText'
import { amountOf, amountText, parseDollars } from '../lib/money'
import { sentence, theBudget } from '../lib/text'
import { useCatalog } from '../state/catalog'
import { currentDoc, useFlow } from '../state/flow'
import { launch } from '../state/launch'
import { useRun } from '../state/run'
import { useUi } from '../state/ui'
import { isCard } from '../state/document'
import { fieldOf, limitNow, proposal } from './proposal'

export function NoticeCard({ event, last = false, running = false }: { event: Event; last?: boolean; running?: boolean }) {
  const gauge = (event.gauge as Gauge | null) ?? null
  const stop = event.type === 'agent.error'
  const [raising, setRaising] = useState(false)
  const ways = useWays(gauge)
  const raisable = ways.counter || ways.flow
  return (
    <div className={stop ? 'notice stop' : 'notice warn'} role={stop ? 'alert' : 'note'} data-testid={stop ? 'stop-card' : 'warning-card'}>
      <Icon name={stop ? (gauge ? 'blocked' : 'error') : 'warning'} />
      <div>
        <strong>{stop && gauge ? `Stopped by ${theBudget(gauge.budget)}` : stop ? 'Stopped' : gauge ? sentence(`${theBudget(gauge.budget)} is nearly used`).slice(0, -1) : 'Warning'}</strong>
        {!gauge && <p dir="auto"><HelpText text={`${String(event.message ?? '')} ${String(event.remedy ?? '')}`} /></p>}
        {gauge && (
          <>
            <div className="notice-gauge"><GaugeBar gauge={gauge} /><span>{gaugeText(gauge)}</span></div>
            {/* What a button here does, no words need to say. */}
            {event.remedy && !(stop && raisable) ? <p className="muted"><HelpText text={String(event.remedy)} /></p> : null}
            {raising ? <Raise gauge={gauge} ways={ways} onClose={() => setRaising(false)} /> : (
              <div className="notice-acts">
                {stop && raisable && last && !running && <button type="button" className="primary" onClick={() => setRaising(true)}>Raise and run again</button>}
                {gauge.node_id && <FieldButton gauge={gauge} />}
                {!gauge.node_id && gauge.field && <span className="muted">Set by <HelpText text={gauge.field} /></span>}
              </div>
            )}
          </>
        )}
        {event.node_id && !gauge && <button type="button" className="plain-button" onClick={() => useFlow.getState().select([event.node_id!])}>Show {event.node_id}</button>}
      </div>
    </div>
  )
}

/** How the limit of a gauge can be raised from here. */
interface Ways {
  /** As a row of the ledger, which an operator writes. A run's budget ends with the run. */
  counter: boolean
  /** In the flow. A raise beats the flow's own limit until it is changed, so only where its limit is the one that stopped. */
  flow: boolean
}

function useWays(gauge: Gauge | null): Ways {
  const operator = useCatalog((s) => s.me?.role === 'operator')
  const flow = useFlow((s) => !!gauge && s.nodes.some((n) => n.id === gauge.node_id && isCard(n) && limitNow(gauge, n.data.config[fieldOf(gauge)])))
  return { counter: operator && !!gauge && gauge.period !== 'run', flow }
}

function FieldButton({ gauge }: { gauge: Gauge }) {
  const there = useFlow((s) => s.nodes.some((n) => n.id === gauge.node_id))
  if (!there) return <span className="muted">Set by <HelpText text={gauge.field ?? gauge.budget} /></span>
  const jump = () => {
    useFlow.getState().select([gauge.node_id!])
    useUi.getState().set({ inspector: true, focusField: { node: gauge.node_id!, field: fieldOf(gauge) } })
  }
  return <button type="button" onClick={jump}>Open {fieldOf(gauge)} of {gauge.node_id}</button>
}

function Raise({ gauge, ways, onClose }: { gauge: Gauge; ways: Ways; onClose(): void }) {
  const id = useId()
  const [amount, setAmount] = useState(() => proposal(gauge))
  const [how, setHow] = useState<'period' | 'good' | 'flow'>(ways.counter ? 'period' : 'flow')
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const value = gauge.metric === 'spend' ? parseDollars(amount) : /^\d+$/.test(amount.trim()) ? Number(amount) : null
  const low = value !== null && value <= (amountOf(gauge.metric, gauge.used) ?? 0)
  const submit = async (event: React.FormEvent) => {
    event.preventDefault()
    if (value === null || low) return
    setBusy(true)
    try {
      if (how === 'flow') changeInFlow(gauge, amount.trim())
      else await raise(gauge, amount.trim(), how === 'good')
      onClose()
      again(how === 'flow')
    } catch (caught) {
      setError(caught)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className="raise" onSubmit={(e) => void submit(e)}>
      <label htmlFor={id}>New limit</label>
      <span className="with-unit">
        <input id={id} className="num" autoFocus inputMode="decimal" value={amount} aria-invalid={value === null || low || undefined} onChange={(e) => setAmount(e.target.value)} />
        <span className="unit">{gauge.metric === 'spend' ? '$' : 'tokens'}</span>
      </span>
      <select aria-label="For how long" value={how} onChange={(e) => setHow(e.target.value as typeof how)}>
        {ways.counter && <option value="period">for this period</option>}
        {ways.counter && <option value="good">for good</option>}
        {ways.flow && <option value="flow">in the flow</option>}
      </select>
      <button type="submit" className="primary" disabled={busy || value === null || low}>Raise and run again</button>
      <button type="button" onClick={onClose}>Keep the limit</button>
      {low && <p className="wrongs bad">More than the {amountText(gauge.metric, gauge.used)} that are used.</p>}
      {error !== null && <Failure error={error} />}
    </form>
  )
}

function changeInFlow(gauge: Gauge, amount: string): void {
  const { nodes, setConfig } = useFlow.getState()
  const node = nodes.find((n) => n.id === gauge.node_id)
  if (!node || !isCard(node)) return
  const field = fieldOf(gauge)
  setConfig(node.id, { ...node.data.config, [field]: gauge.metric === 'spend' ? amount : Number(amount) }, field)
}

/** The counter that this gauge shows: the newest of its pot for the user who ran. */
async function raise(gauge: Gauge, amount: string, forGood: boolean): Promise<void> {
  const { rehearsal, lastRequest } = useRun.getState()
  const { budgets } = await api.budgets({ rehearsal, ...(lastRequest?.user ? { user: lastRequest.user } : {}) })
  const same = budgets.filter(({ key }) => key.pot === gauge.pot && key.metric === gauge.metric && key.period === gauge.period)
  const counter = same.find(({ current, key }) => current && (gauge.period !== 'session' || key.owner === useRun.getState().session)) ?? same[0]
  if (!counter) throw new Error(`The counter of ${gauge.budget} was not found. Open Budgets and raise it there.`)
  await api.raise(counter.key, amount, forGood, 'raised in the studio to run again', rehearsal)
}

function again(flowChanged: boolean): void {
  const { lastRequest, session, sessionName } = useRun.getState()
  if (!lastRequest) return void launch()
  const inSession = session && sessionName ? { session: sessionName } : {}
  if (!flowChanged) return void launch({ ...lastRequest, ...inSession }, ['paid', 'needs'])
  const { path, origin } = useFlow.getState()
  const { path: _path, flow: _flow, ...rest } = lastRequest
  const from = path ?? (origin || undefined)
  void launch({ ...rest, ...inSession, flow: currentDoc(), ...(from ? { base_path: from } : {}) }, ['paid', 'needs'])
}

// What is selected, to read and to change: a node's form and connections, an edge, or the flow itself.
import { useEffect, useMemo, useRef, useState } from 'react'
import { Icon, PortShape } from '../app/icons'
import { Link } from '../app/Link'
import { plural } from '../lib/text'
import { useCatalog } from '../state/catalog'
import { type CardNode, ID_PATTERN, isCard } from '../state/document'
import { useFlow } from '../state/flow'
import { useRun } from '../state/run'
import { useUi } from '../state/ui'
import { fieldPath, problemText, problemsOf, useValidation } from '../state/validation'
import { Connections } from './Connections'
import { HelpText } from './HelpText'
import { SchemaForm } from './SchemaForm'

export function Inspector() {
  const selected = useFlow((s) => {
    const nodes = s.nodes.filter((n) => n.selected)
    return nodes.length === 1 && isCard(nodes[0]!) ? nodes[0]!.id : null
  })
  const count = useFlow((s) => s.nodes.filter((n) => n.selected).length)
  const edge = useFlow((s) => s.edges.find((e) => e.selected)?.id ?? null)
  const set = useUi((s) => s.set)
  return (
    <aside className="inspector" aria-label="Inspector">
      <button type="button" className="icon-button hide" onClick={() => set({ inspector: false })} aria-label="Hide the inspector" title="Hide the inspector"><Icon name="right" /></button>
      {selected ? <NodePanel key={selected} id={selected} /> : count > 1 ? <ManyPanel count={count} /> : edge ? <EdgePanel id={edge} /> : <FlowPanel />}
    </aside>
  )
}

function NodePanel({ id }: { id: string }) {
  // Its data, and not the node, which is another one at each step of a drag.
  const data = useFlow((s) => s.nodes.find((n) => n.id === id)?.data) as CardNode['data'] | undefined
  const type = useCatalog((s) => (data ? s.types[data.type] : undefined))
  const problems = useValidation(problemsOf(id))
  const incoming = useFlow((s) => s.edges.filter((e) => e.target === id && e.data?.kind === 'message').map((e) => e.source).join('\n'))
  const variables = useMemo(() => {
    const names = incoming ? [...new Set(incoming.split('\n'))] : []
    return [...(names.length === 1 ? ['input'] : []), ...names.map((name) => `inputs.${name}`)]
  }, [incoming])
  const formProblems = useMemo(() => problems.flatMap((p) => {
    const path = fieldPath(p)
    return path ? [{ path, message: problemText(p), level: p.level }] : []
  }), [problems])
  const general = problems.filter((p) => !fieldPath(p))
  const body = useRef<HTMLDivElement>(null)
  useFocusField(id, body)
  if (!data) return null
  return (
    <div className="panel" ref={body} data-category={type?.category}>
      <div className="panel-title"><Icon name={type?.icon ?? 'warning'} /><h2>{type?.title ?? data.type}</h2></div>
      {type ? <p className="help lead"><HelpText text={type.help} /></p> : <p className="wrongs bad">The node type {data.type} is not installed here. Its settings are kept as they are.</p>}
      <IdField id={id} />
      {general.map((p, i) => <p key={i} className={`wrongs ${p.level === 'warning' ? 'warn' : 'bad'}`}><HelpText text={problemText(p)} /></p>)}
      <RunNote id={id} />
      {type && (
        <SchemaForm schema={type.schema} value={data.config} prefix={`cfg-${id}`} problems={formProblems} variables={variables} templates={type.templates}
          onChange={(config, field) => useFlow.getState().setConfig(id, config, field)} />
      )}
      <Connections id={id} />
      <div className="panel-foot">
        <button type="button" onClick={() => useFlow.getState().duplicate()}><Icon name="copy" /> Duplicate</button>
        <button type="button" onClick={() => useFlow.getState().remove()}><Icon name="trash" /> Delete</button>
      </div>
    </div>
  )
}

const INPUTS = 'input, textarea, select'

/** A problem, or a stop, asked for a field: open what hides it, and put the focus there. */
function useFocusField(id: string, body: React.RefObject<HTMLDivElement | null>): void {
  const wanted = useUi((s) => s.focusField)
  useEffect(() => {
    if (!wanted || wanted.node !== id) return
    useUi.getState().set({ focusField: null })
    let path = wanted.field
    let field: HTMLElement | null = null
    while (path && !field) {
      field = body.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(path)}"]`) ?? null
      path = path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : ''
    }
    for (let up = field?.parentElement; up; up = up.parentElement) if (up instanceof HTMLDetailsElement) up.open = true
    const target = field?.querySelector<HTMLElement>(INPUTS) ?? field?.querySelector<HTMLElement>('button') ?? body.current?.querySelector<HTMLElement>(`.form :is(${INPUTS})`)
    target?.focus()
    field?.scrollIntoView({ block: 'center' })
  }, [wanted, id, body])
}

/** What is wrong with a new id for a node; null where nothing is. */
function wrongId(id: string, text: string): string | null {
  if (text === id) return null
  if (!ID_PATTERN.test(text)) return 'Begin with a letter, then letters, digits, _ or -.'
  return useFlow.getState().nodes.some((node) => node.id === text) ? `Another node is called ${text}.` : null
}

function IdField({ id }: { id: string }) {
  const [text, setText] = useState(id)
  const wrong = wrongId(id, text.trim())
  const take = () => {
    if (!wrong) return void useFlow.getState().rename(id, text.trim())
    setText(id)
    useUi.getState().say(`The node stays ${id}. ${wrong}`)
  }
  return (
    <div className="field">
      <label htmlFor="node-id"><span className="field-name">Id</span></label>
      <input id="node-id" className="mono" value={text} maxLength={64} aria-invalid={wrong ? true : undefined} aria-describedby="node-id-help" onChange={(e) => setText(e.target.value)} onBlur={take}
        onKeyDown={(e) => { if (e.key === 'Enter' && !wrong) take() }} />
      <div id="node-id-help" className={wrong ? 'wrongs bad' : 'help'}>{wrong ?? 'Templates and results use it.'}</div>
    </div>
  )
}

function RunNote({ id }: { id: string }) {
  const error = useRun((s) => s.nodes[id]?.error ?? null)
  if (!error) return null
  return (
    <div className="run-note" role="note">
      <Icon name={error.code.startsWith('budget.') ? 'blocked' : 'error'} />
      <div><strong>{error.message}</strong>{error.remedy && <p><HelpText text={error.remedy} /></p>}<code>{error.code}</code></div>
    </div>
  )
}

function ManyPanel({ count }: { count: number }) {
  const act = useFlow.getState()
  return (
    <div className="panel">
      <h2>{plural(count, 'node')} selected</h2>
      <div className="panel-foot start">
        <button type="button" onClick={() => act.group()}>Group</button>
        <button type="button" onClick={() => act.duplicate()}><Icon name="copy" /> Duplicate</button>
        <button type="button" onClick={() => act.remove()}><Icon name="trash" /> Delete</button>
      </div>
    </div>
  )
}

function EdgePanel({ id }: { id: string }) {
  const edge = useFlow((s) => s.edges.find((e) => e.id === id))
  if (!edge) return null
  return (
    <div className="panel">
      <div className="panel-title"><PortShape kind={edge.data?.kind ?? 'message'} /><h2>Edge</h2></div>
      <p><code>{edge.source}</code> {edge.sourceHandle} → <code>{edge.target}</code> {edge.targetHandle}</p>
      <div className="panel-foot start"><button type="button" onClick={() => useFlow.getState().disconnect(id)}><Icon name="trash" /> Remove</button></div>
    </div>
  )
}

/** So many agents are listed; a large flow has hundreds. */
const FEW = 12

function FlowPanel() {
  const meta = useFlow((s) => s.meta)
  const nodes = useFlow((s) => s.nodes.filter(isCard).length)
  const path = useFlow((s) => s.path)
  const needs = useValidation((s) => s.needs)
  const agents = useValidation((s) => s.agents)
  const setMeta = useFlow((s) => s.setMeta)
  return (
    <div className="panel">
      <div className="panel-title"><Icon name="flows" /><h2>Flow</h2></div>
      <div className="field">
        <label htmlFor="flow-name"><span className="field-name">Name</span></label>
        <input id="flow-name" value={meta.name} maxLength={200} dir="auto" onChange={(e) => setMeta({ name: e.target.value })} />
      </div>
      <div className="field">
        <label htmlFor="flow-text"><span className="field-name">Description</span></label>
        <textarea id="flow-text" rows={3} dir="auto" value={meta.description} onChange={(e) => setMeta({ description: e.target.value })} />
        <div className="help">What it does, in a sentence or two.</div>
      </div>
      <dl className="facts">
        <div><dt>Nodes</dt><dd>{nodes}</dd></div>
        {path && <div><dt>File</dt><dd><code>{path}</code></dd></div>}
        {meta.id && <div><dt>Id</dt><dd><code className="wrap">{meta.id}</code></dd></div>}
      </dl>
      {agents.length > 0 && (
        <>
          <h3>Models and limits</h3>
          <ul className="agents">
            {agents.slice(0, FEW).map((agent) => (
              <li key={agent.node_id}>
                <button type="button" className="plain-button" onClick={() => useFlow.getState().select([agent.node_id])}>{agent.node_id}</button>
                <span className="muted">{agent.model ?? agent.provider}{agent.rehearsal ? ' · rehearsal' : ''}{agent.limits.length ? ` · ${agent.limits.join(', ')}` : ''}</span>
              </li>
            ))}
            {agents.length > FEW && <li className="muted">and {agents.length - FEW} more</li>}
          </ul>
        </>
      )}
      {needs.length > 0 && <><h3>This flow asks for</h3><ul>{needs.map((need) => <li key={need}>{need}</li>)}</ul></>}
      {path && <p><Link href={`/sessions?flow=${encodeURIComponent(meta.id ?? meta.name)}`}>Sessions of this flow</Link></p>}
      <p className="help">Select a node to change it. Press <kbd>/</kbd> to add one, <kbd>?</kbd> for all keys.</p>
    </div>
  )
}

// The folder's flows, and examples to begin with.
import { useState } from 'react'
import { api } from '../api/client'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { Link } from '../app/Link'
import { to } from '../app/router'
import { useLoad } from '../app/useLoad'
import { HelpText } from '../inspector/HelpText'
import { plural } from '../lib/text'
import { ago } from '../lib/time'
import { importFlow, takeImported } from './files'

export function FlowsPage() {
  const flows = useLoad(() => api.flows(), 'flows')
  const examples = useLoad(() => api.examples(), 'examples')
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const found = flows.data?.flows.filter((f) => !wanted || [f.path, f.name, f.description].some((each) => each?.toLowerCase().includes(wanted))) ?? []
  const open = () => importFlow(takeImported)
  return (
    <main className="page">
      <header className="page-head">
        <div><h1>Flows</h1><p className="muted">{flows.data ? <>in <code>{flows.data.folder}</code></> : ' '}</p></div>
        <span className="grow" />
        <button type="button" onClick={open}><Icon name="upload" /> Import</button>
        <Link href="/new" className="button primary"><Icon name="plus" /> New flow</Link>
      </header>
      {flows.error !== null && <Failure error={flows.error} retry={flows.reload} />}
      {flows.data && flows.data.flows.length > 0 && (
        <section aria-label="Your flows">
          {flows.data.flows.length > 8 && (
            <div className="search-box narrow"><Icon name="search" /><input type="search" value={text} placeholder="Find a flow" aria-label="Find a flow" onChange={(e) => setText(e.target.value)} /></div>
          )}
          <ul className="cards">
            {found.map((flow) => (
              <li key={flow.path}>
                <Link href={to.flow(flow.path)} className={flow.error ? 'flow-card broken' : 'flow-card'}>
                  <strong dir="auto">{flow.name || flow.path}</strong>
                  <p dir="auto">{flow.error ? <><Icon name="error" /> {flow.error}</> : <HelpText text={flow.description || 'No description.'} />}</p>
                  <span className="muted"><code>{flow.path}</code><span>{ago(flow.modified)}</span></span>
                </Link>
              </li>
            ))}
          </ul>
          {!found.length && <p className="muted">No flow matches “{text}”.</p>}
        </section>
      )}
      {flows.data && flows.data.flows.length === 0 && (
        <div className="empty-state"><h2>No flows in this folder yet</h2><p>Open an example below and press Run. It needs no key and costs nothing until you connect a model.</p></div>
      )}
      <section aria-label="Examples">
        <h2>Examples</h2>
        {examples.error !== null && <Failure error={examples.error} retry={examples.reload} />}
        <ul className="cards">
          {examples.data?.examples.map((example) => (
            <li key={example.name}>
              <Link href={to.example(example.name)} className="flow-card">
                <strong>{example.title || example.name}</strong><p><HelpText text={example.description} /></p>
                <span className="muted"><code>example:{example.name}</code><span>{plural(example.nodes, 'node')}</span></span>
              </Link>
            </li>
          ))}
        </ul>
      </section>
    </main>
  )
}

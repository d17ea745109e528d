// Which model answers and what holds; connecting a provider and trying one call.
import { useState } from 'react'
import { api } from '../api/client'
import type { ProviderInfo } from '../api/types'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { useLoad } from '../app/useLoad'
import { dollars, nanosOf, count } from '../lib/money'
import { duration } from '../lib/time'
import { useCatalog } from '../state/catalog'
import { tokensOf } from '../timeline/row'

export function SettingsPage() {
  const loaded = useLoad(() => api.settings(), 'settings')
  const me = useCatalog((s) => s.me)
  const data = loaded.data
  const model = data?.model ?? me?.model
  const changed = () => { loaded.reload(); void useCatalog.getState().refreshMe() }
  return (
    <main className="page">
      <header className="page-head"><h1>Settings</h1></header>
      {loaded.error !== null && <Failure error={loaded.error} retry={loaded.reload} />}
      <section className="setting" aria-label="The model now">
        <h2>The model now</h2>
        {model && <p><code>{model.name}</code> {model.rehearsal && <span className="tag rehearsal">rehearsal</span>} <span className="muted">{model.why}</span></p>}
        {model?.rehearsal && <p>A scripted stand-in, not a model: it costs nothing, and what it does is kept apart from real sessions, facts and spend.</p>}
        {me?.limits.length ? <><h3>Limits that always hold</h3><ul>{me.limits.map((limit) => <li key={limit.name}><strong>{limit.name}</strong> <span className="muted">{limit.text}</span></li>)}</ul></> : null}
        {data?.warnings.map((warning, i) => <p key={i} className="tag warn"><Icon name="warning" />{warning}</p>)}
      </section>
      <section className="setting" aria-label="Connect a model">
        <h2>Connect a model</h2>
        <p className="muted">A key is kept in this machine’s keyring or a file only you can read. It never comes back to this page.</p>
        <ul className="providers">{data?.providers.map((provider) => <Provider key={provider.name} provider={provider} onChanged={changed} />)}</ul>
      </section>
      {data && data.budgets.length > 0 && (
        <section className="setting" aria-label="Your own budgets"><h2>Your own budgets</h2><ul>{data.budgets.map((budget) => <li key={budget.name}><strong>{budget.name}</strong> <span className="muted">{[budget.text, budget.everyone ? 'all users together' : 'each user', budget.flow && `flow ${budget.flow}`, budget.provider, budget.paid_only && 'paid providers only'].filter(Boolean).join(' · ')}</span></li>)}</ul></section>
      )}
      {data && (
        <section className="setting" aria-label="Files"><h2>Files</h2><dl className="facts wide">{Object.entries({ folder: me?.folder ?? '', ...data.paths }).map(([name, path]) => <div key={name}><dt>{name}</dt><dd><code className="wrap">{path}</code></dd></div>)}</dl>
          <p className="muted">Farthing {me?.version} · {me?.user}, {me?.role}</p></section>
      )}
    </main>
  )
}

function Provider({ provider, onChanged }: { provider: ProviderInfo; onChanged(): void }) {
  const [open, setOpen] = useState(false)
  // A server on one's own machine takes no key, so nothing says whether it is there until it is called.
  const untried = provider.configured && provider.free && !provider.key_from && provider.name !== 'scripted'
  return (
    <li className={provider.configured ? 'provider on' : 'provider'} data-testid={`provider-${provider.name}`}>
      <div className="provider-head">
        <Icon name={provider.configured && !untried ? 'check' : 'minus'} label={untried ? 'not tried' : provider.configured ? 'connected' : 'not connected'} />
        <strong>{provider.name}</strong>
        {provider.free && <span className="tag">costs nothing</span>}
        <span className="muted">{provider.configured ? [provider.default_model, untried && 'needs no key; Try says whether it answers', provider.key_from && `key from ${provider.key_from}`].filter(Boolean).join(' · ') : provider.needs ? `needs ${provider.needs}` : ''}</span>
        <span className="grow" />
        <button type="button" aria-expanded={open} aria-label={`${provider.configured ? 'Try' : 'Connect'} ${provider.name}`} onClick={() => setOpen(!open)}>{provider.configured ? 'Try' : 'Connect'}</button>
      </div>
      {open && <div className="provider-body">{provider.takes_key && <KeyForm provider={provider} onSaved={onChanged} />}<TestCall provider={provider} /></div>}
    </li>
  )
}

function KeyForm({ provider, onSaved }: { provider: ProviderInfo; onSaved(): void }) {
  const [key, setKey] = useState('')
  const [state, setState] = useState<'idle' | 'saved'>('idle')
  const [error, setError] = useState<unknown>(null)
  const submit = (event: React.FormEvent) => {
    event.preventDefault()
    api.saveKey(provider.name, key).then(() => { setKey(''); setError(null); setState('saved'); onSaved() }, setError)
  }
  return (
    <form className="inline-form" onSubmit={submit}>
      <label><span>Key</span><input type="password" autoComplete="off" value={key} placeholder={provider.configured ? 'replace the key' : 'paste the key'} onChange={(e) => { setKey(e.target.value); setState('idle') }} /></label>
      <button type="submit" className="primary" disabled={!key.trim()}>Save the key</button>
      {state === 'saved' && <span className="good" role="status"><Icon name="check" /> Saved</span>}
      {error !== null && <Failure error={error} />}
    </form>
  )
}

function TestCall({ provider }: { provider: ProviderInfo }) {
  const [model, setModel] = useState(provider.default_model ? `${provider.name}:${provider.default_model}` : `${provider.name}:`)
  const [answer, setAnswer] = useState<Awaited<ReturnType<typeof api.testModel>> | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const submit = (event: React.FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setAnswer(null)
    setError(null)
    api.testModel(model).then(setAnswer, setError).finally(() => setBusy(false))
  }
  const why = answer?.error ? (typeof answer.error === 'string' ? answer.error : `${answer.error.message} ${answer.error.remedy ?? ''}`) : ''
  return (
    <form className="inline-form" onSubmit={submit}>
      <label><span>Model</span><input className="mono" value={model} onChange={(e) => setModel(e.target.value)} /></label>
      <button type="submit" disabled={busy || model.endsWith(':')}>{busy ? 'Calling…' : 'Try one call'}</button>
      {answer?.ok && <span className="good" role="status"><Icon name="check" /> Answered in {duration(answer.ms)}, {count(tokensOf(answer.usage))} tokens, {dollars(nanosOf(answer.cost))}</span>}
      {answer && !answer.ok && <span className="wrongs bad" role="alert">{why || 'It did not answer.'}</span>}
      {error !== null && <Failure error={error} />}
    </form>
  )
}

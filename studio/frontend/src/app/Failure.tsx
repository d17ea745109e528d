// What went wrong, in the API's words, with what to do; and the page for one who has no key to the studio.
import { Component, type ReactNode } from 'react'
import { ApiError } from '../api/client'
import { HelpText } from '../inspector/HelpText'
import { Icon } from './icons'
import { remedyHere } from './remedies'

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof ApiError
  const message = known ? error.message : (error as Error)?.message ?? String(error)
  const hint = known ? remedyHere(error.problems.length === 1 ? error.problems[0]!.code : error.code, error.hint) : null
  return (
    <div className="failure" role="alert">
      <Icon name="error" />
      <div><p>{message}</p>{hint && <p className="muted"><HelpText text={hint} /></p>}</div>
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  )
}

/** `left`: who was in already, until the studio was started again or the door was closed. */
export function Locked({ bad, left }: { bad: boolean; left: boolean }) {
  return (
    <main className="locked">
      <h1>{bad ? 'This link is used up' : 'This page needs a link'}</h1>
      <p>The studio opens with a link that works once. Get a fresh one in a terminal and follow it:</p>
      <pre><code>farthing studio --link</code></pre>
      {left && <p>What you changed is kept in this browser, and offered when you open the flow again.</p>}
      <p className="muted">It keeps your flows and money from other pages and people on this machine.</p>
    </main>
  )
}

export class Guard extends Component<{ children: ReactNode; place: string }, { error: unknown }> {
  override state = { error: null as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override componentDidUpdate(before: { place: string }) {
    if (before.place !== this.props.place && this.state.error) this.setState({ error: null })
  }

  override render() {
    if (!this.state.error) return this.props.children
    return (
      <main className="page">
        <Failure error={this.state.error} retry={() => this.setState({ error: null })} />
        <p className="muted">What you changed is kept as a draft in this browser.</p>
      </main>
    )
  }
}

// Who wrote a version of a fact, with a link to the step on its timeline.
import type { Fact } from '../api/types'
import { Link } from '../app/Link'
import { to } from '../app/router'

const ORIGINS: Record<string, string> = { user: 'said by the user', operator: 'set by an operator', model: 'written by the model', derived: 'derived', tainted: 'written after a tool’s output' }

export function Whence({ fact }: { fact: Fact }) {
  const back = /^version\/(\d+)$/.exec(fact.source ?? '')
  return (
    <>
      <span>{ORIGINS[fact.origin ?? ''] ?? fact.origin}{fact.actor ? ` (${fact.actor})` : ''}</span>
      {back ? <span>put back from version {back[1]}</span>
        : fact.source && <Link href={`${to.run(fact.source)}${fact.step == null ? '' : `?step=${fact.step}`}`}>{fact.step == null ? 'its run' : `step ${fact.step} of its run`}</Link>}
    </>
  )
}

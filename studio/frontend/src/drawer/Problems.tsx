// What the validator says; each problem leads to its place.
import type { Problem } from '../api/types'
import { Icon } from '../app/icons'
import { HelpText } from '../inspector/HelpText'
import { sentence } from '../lib/text'
import { useFlow } from '../state/flow'
import { useUi } from '../state/ui'
import { fieldPath, problemText, useValidation } from '../state/validation'

export function jumpTo(problem: Problem): void {
  if (!problem.node_id) return
  useFlow.getState().select([problem.node_id])
  useUi.getState().set({ inspector: true, reveal: { id: problem.node_id, near: true }, focusField: { node: problem.node_id, field: fieldPath(problem) ?? '' } })
}

export function Problems() {
  const { problems, state, error } = useValidation()
  if (error) return <p className="pad wrongs bad">The flow could not be checked: {error}</p>
  if (!problems.length) return <p className="pad muted">{state === 'checking' || state === 'unknown' ? 'Checking…' : <><Icon name="check" /> No problems.</>}</p>
  return (
    <ul className="problems">
      {problems.map((problem, i) => (
        <li key={i} className={problem.level === 'warning' ? 'warn' : 'bad'}>
          <button type="button" disabled={!problem.node_id} onClick={() => jumpTo(problem)}>
            <Icon name={problem.level === 'warning' ? 'warning' : 'error'} label={problem.level === 'warning' ? 'warning' : 'error'} />
            <span><strong><HelpText text={problemText({ ...problem, remedy: null })} /></strong> <HelpText text={sentence(problem.remedy)} /></span>
            <code>{[problem.node_id, fieldPath(problem)].filter(Boolean).join(' · ') || problem.path || problem.code}</code>
          </button>
        </li>
      ))}
    </ul>
  )
}

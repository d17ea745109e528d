// The open flow and what the validator says of it, brought together.
import { currentDoc, useFlow } from './flow'
import { useValidation } from './validation'

/** Ask the validator about the flow as it is now. */
export function checkNow(): Promise<void> {
  const { path, origin, rev } = useFlow.getState()
  return useValidation.getState().check(currentDoc(), path ?? (origin || null), rev)
}

/** Whether the last answer is about the flow as it is now. */
export function isChecked(): boolean {
  const { state, rev } = useValidation.getState()
  return state === 'current' && rev === useFlow.getState().rev
}

// The value of a fact while it is written: a text, or JSON where it was JSON before.
import { useState } from 'react'
import { Failure } from '../app/Failure'
import { Growing } from '../inspector/Scalars'

interface Props {
  value: unknown
  label: string
  onSave(value: unknown): Promise<void>
  onCancel(): void
}

export function FactValue({ value, label, onSave, onCancel }: Props) {
  const json = value !== null && value !== undefined && typeof value !== 'string'
  const [text, setText] = useState(() => (json ? JSON.stringify(value, null, 2) : String(value ?? '')))
  const [error, setError] = useState<unknown>(null)
  const submit = (event: React.FormEvent) => {
    event.preventDefault()
    let next: unknown = text
    try {
      if (json) next = JSON.parse(text)
    } catch (caught) {
      return setError(new Error(`Not JSON: ${(caught as Error).message}`))
    }
    onSave(next).catch(setError)
  }
  return (
    <form className="fact-edit" onSubmit={submit}>
      <Growing autoFocus dir="auto" aria-label={label} value={text} onChange={(e) => setText(e.target.value)} />
      {error !== null && <Failure error={error} />}
      <div><button type="submit" className="primary">Save</button><button type="button" onClick={onCancel}>Cancel</button></div>
    </form>
  )
}

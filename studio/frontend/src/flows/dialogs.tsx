// Questions about files, and those that a run asks before it starts.
import { useState } from 'react'
import { api } from '../api/client'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { UNTITLED, useFlow } from '../state/flow'
import { launch, useLaunch } from '../state/launch'
import { useUi } from '../state/ui'
import { pathFor } from './files'

interface SaveAsProps {
  onClose(): void
  onSave(path: string): void
}

/** Asks for a name first: a file is called after it, until somebody calls the file otherwise. */
export function SaveAsDialog({ onClose, onSave }: SaveAsProps) {
  const { path: known, meta } = useFlow.getState()
  const [name, setName] = useState(meta.name === UNTITLED ? '' : meta.name)
  const [typed, setTyped] = useState<string | null>(null)
  const path = typed ?? pathFor(name, meta.name, known)
  const wrong = /^\/|(^|\/)\.\.(\/|$)|\\/.test(path) || !path.trim()
  const submit = (event: React.FormEvent) => {
    event.preventDefault()
    if (wrong || !name.trim()) return
    if (name.trim() !== meta.name) useFlow.getState().setMeta({ name: name.trim() })
    onSave(path.trim().endsWith('.json') ? path.trim() : `${path.trim()}.json`)
  }
  return (
    <Dialog title="Save the flow" onClose={onClose}>
      <form className="dialog-form" onSubmit={submit}>
        <div className="field">
          <label htmlFor="save-name"><span className="field-name">Name</span></label>
          <input id="save-name" data-first dir="auto" value={name} placeholder="What the flow does, such as Answers letters" onChange={(e) => setName(e.target.value)} />
        </div>
        <div className="field">
          <label htmlFor="save-path"><span className="field-name">File</span></label>
          <input id="save-path" className="mono" value={path} aria-invalid={wrong || undefined} aria-describedby="save-help" onChange={(e) => setTyped(e.target.value)} />
          <div id="save-help" className={wrong ? 'wrongs bad' : 'help'}>{wrong ? 'A path inside the folder, such as support/answer.json.' : 'Inside the studio’s folder. A new folder in it is made if needed.'}</div>
        </div>
        <footer><button type="button" onClick={onClose}>Cancel</button><button type="submit" className="primary" disabled={wrong || !name.trim()}>Save</button></footer>
      </form>
    </Dialog>
  )
}

interface ConflictProps {
  onClose(): void
  onReload(): void
  onOverwrite(): void
  onCopy(): void
  /** Saving under a new name met a file that is there already. */
  exists: boolean
}

export function ConflictDialog({ onClose, onReload, onOverwrite, onCopy, exists }: ConflictProps) {
  return (
    <Dialog title={exists ? 'There is a file of that name' : 'The file was changed elsewhere'} onClose={onClose}>
      <p>{exists ? 'Saving would replace it.' : 'Somebody else, or another tab, saved it since you opened it. Nothing has been overwritten. If you load theirs, yours is kept as a draft in this browser.'}</p>
      <footer>
        <button type="button" onClick={onClose}>Go back</button>
        {!exists && <button type="button" onClick={onReload}>Load theirs</button>}
        <button type="button" onClick={onCopy}>Save under another name</button>
        <button type="button" className="danger" onClick={onOverwrite}>Replace it</button>
      </footer>
    </Dialog>
  )
}

export function DeleteDialog({ onClose, onDeleted }: { onClose(): void; onDeleted(): void }) {
  const { path, hash } = useFlow.getState()
  const [error, setError] = useState<unknown>(null)
  const act = () => {
    if (path) api.deleteFlow(path, hash ?? '').then(onDeleted, setError)
  }
  return (
    <Dialog title="Delete the file?" onClose={onClose}>
      <p><code>{path}</code> is removed from the folder. Sessions, facts and budgets of this flow stay.</p>
      {error !== null && <Failure error={error} />}
      <footer><button type="button" autoFocus onClick={onClose}>Keep it</button><button type="button" className="danger" onClick={act}>Delete it</button></footer>
    </Dialog>
  )
}

export function QuestionDialog() {
  const question = useLaunch((s) => s.question)
  if (!question) return null
  const close = () => useLaunch.getState().set({ question: null })
  if (question.kind === 'needs') {
    return (
      <Dialog title="Allow this flow?" onClose={close}>
        <p>It comes from a file, and asks for:</p>
        <ul>{question.needs.map((need) => <li key={need}><code>{need}</code></li>)}</ul>
        <p className="muted">Allowed once, until what it asks for changes.</p>
        <footer><button type="button" autoFocus onClick={close}>Not now</button><button type="button" className="primary" onClick={() => void launch(question.request, ['needs'])}>Allow and run</button></footer>
      </Dialog>
    )
  }
  const go = () => {
    const { paidConfirmed, set } = useUi.getState()
    set({ paidConfirmed: [...new Set([...paidConfirmed, ...question.models])] })
    void launch(question.request, ['needs', 'paid'])
  }
  return (
    <Dialog title="This run costs money" onClose={close}>
      <p>It calls {question.models.map((model, i) => <span key={model}>{i ? ', ' : ''}<code>{model}</code></span>)}.</p>
      {question.limits.length ? <><p>These limits hold:</p><ul>{question.limits.map((limit) => <li key={limit}>{limit}</li>)}</ul></>
        : <p className="wrongs warn">No limit holds. Attach a Budget to the agents, or set one in the settings.</p>}
      <p className="muted">You are asked once for each model in this browser.</p>
      <footer><button type="button" onClick={close}>Not now</button><button type="button" className="primary" data-first onClick={go}>Run</button></footer>
    </Dialog>
  )
}

// Move facts to another user, session or namespace; what moves, and what stands in the way, is shown first.
import { useState } from 'react'
import { api } from '../api/client'
import type { Moved, ShelfKey } from '../api/types'
import { Dialog } from '../app/Dialog'
import { Failure } from '../app/Failure'
import { plural } from '../lib/text'

interface Props {
  shelf: ShelfKey
  /** None: all of the shelf. */
  keys: string[]
  rehearsal: boolean
  onClose(): void
  onMoved(): void
}

export function MoveDialog({ shelf, keys, rehearsal, onClose, onMoved }: Props) {
  const [to, setTo] = useState<ShelfKey>({ namespace: shelf.namespace, scope: shelf.scope, owner: shelf.owner })
  const [preview, setPreview] = useState<Moved | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const change = (values: Partial<ShelfKey>) => { setTo({ ...to, ...values }); setPreview(null); setError(null) }
  const ask = (dry: boolean) => {
    setBusy(true)
    api.moveFacts(shelf, to, keys, dry, rehearsal).then((told) => { setError(null); if (dry) setPreview(told); else onMoved() }, setError).finally(() => setBusy(false))
  }
  const blocked = !!preview?.there.length
  return (
    <Dialog title={keys.length === 1 ? `Move ${keys[0]}` : 'Move all facts of this shelf'} onClose={onClose}>
      <form className="move-form" onSubmit={(e) => { e.preventDefault(); ask(!preview || blocked) }}>
        <label className="stack"><span>To</span><select value={to.scope} onChange={(e) => change({ scope: e.target.value, owner: '' })}><option value="user">a user, across sessions</option><option value="session">one session</option></select></label>
        <label className="stack"><span>{to.scope === 'user' ? 'User' : 'Session id'}</span><input value={to.owner} onChange={(e) => change({ owner: e.target.value })} required /></label>
        <label className="stack"><span>Namespace</span><input value={to.namespace} onChange={(e) => change({ namespace: e.target.value })} required /></label>
        <p className="muted">Facts move with all their versions, all of them or none. A Memory sees them only where its scope and namespace are these.</p>
        {error !== null && <Failure error={error} />}
        {preview && (
          <div role="status">
            <p>{plural(preview.keys.length, 'fact')} with {plural(preview.versions, 'version')}: {preview.keys.slice(0, 12).map((key) => <code key={key} dir="auto">{key} </code>)}{preview.keys.length > 12 && `and ${preview.keys.length - 12} more`}</p>
            {blocked && <p className="wrongs warn">There already: {preview.there.join(', ')}. Nothing can be moved until one of the two is gone.</p>}
          </div>
        )}
        <footer>
          <button type="button" onClick={onClose}>Cancel</button>
          {!preview || blocked ? <button type="submit" className="primary" disabled={busy}>Show what moves</button> : <button type="submit" className="primary" disabled={busy}>Move {plural(preview.keys.length, 'fact')}</button>}
        </footer>
      </form>
    </Dialog>
  )
}

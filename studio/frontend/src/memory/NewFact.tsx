// Write a fact by hand.
import { useState } from 'react'
import { api } from '../api/client'
import type { ShelfKey } from '../api/types'
import { FactValue } from './FactValue'

export function NewFact({ shelf, rehearsal, onClose, onSaved }: { shelf: ShelfKey; rehearsal: boolean; onClose(): void; onSaved(): void }) {
  const [key, setKey] = useState('')
  return (
    <div className="new-fact">
      <label className="stack"><span>Key</span><input className="mono" value={key} maxLength={120} placeholder="favourite_colour" onChange={(e) => setKey(e.target.value)} /></label>
      <FactValue value="" label="Value" onCancel={onClose} onSave={async (value) => {
        if (!key.trim()) throw new Error('A fact needs a key.')
        await api.writeFact(shelf, { key: key.trim(), value, rehearsal })
        onSaved()
      }} />
    </div>
  )
}

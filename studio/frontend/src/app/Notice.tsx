// Short words that come and go, and the same for those who hear the page.
import { useEffect, useState } from 'react'
import { HelpText } from '../inspector/HelpText'
import { useFlow } from '../state/flow'
import { useUi } from '../state/ui'

const SHOWN_MS = 4000

export function Notice() {
  const toast = useUi((s) => s.toast)
  const said = useFlow((s) => s.said)
  const [gone, setGone] = useState(0)
  useEffect(() => {
    if (!toast) return
    const timer = setTimeout(() => setGone(toast.id), toast.bad ? SHOWN_MS * 2 : SHOWN_MS)
    return () => clearTimeout(timer)
  }, [toast])
  return (
    <>
      <div className="hear" role="status" aria-live="polite">{said}</div>
      {toast && toast.id !== gone && (
        <div className={toast.bad ? 'toast bad' : 'toast'} role="alert">
          <HelpText text={toast.text} /> <button type="button" className="plain-button" onClick={() => setGone(toast.id)}>Close</button>
        </div>
      )}
    </>
  )
}

// A dialog on the browser's own: it holds the focus, Escape closes it, and the focus goes back after it.
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Icon } from './icons'

interface Props {
  title: string
  onClose(): void
  children: ReactNode
  wide?: boolean
}

export function Dialog({ title, onClose, children, wide }: Props) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = box.current
    if (dialog && !dialog.open) {
      dialog.showModal()
      // The browser would choose the first button, which closes. What can be filled in comes first, or what undoes nothing.
      const first = dialog.querySelector<HTMLElement>('[data-first]') ?? dialog.querySelector<HTMLElement>('.dialog-body input, .dialog-body textarea, .dialog-body footer button')
      first?.focus()
    }
    return () => dialog?.close()
  }, [])
  return (
    <dialog ref={box} className={wide ? 'dialog wide' : 'dialog'} aria-labelledby={id} onCancel={(e) => { e.preventDefault(); onClose() }}
      onMouseDown={(e) => { if (e.target === box.current) onClose() }} onKeyDown={(e) => e.stopPropagation()}>
      <div className="dialog-body">
        <header><h2 id={id}>{title}</h2><button type="button" className="icon-button" onClick={onClose} aria-label="Close"><Icon name="close" /></button></header>
        {children}
      </div>
    </dialog>
  )
}

// A template: text that offers its variables after `{{` and as buttons below.
import { useContext, useEffect, useRef, useState } from 'react'
import { Form } from './context'
import type { InputProps } from './Field'
import { completeVariable, openVariable } from './model'
import { Growing, placeholder } from './Scalars'

interface Props extends InputProps {
  text: string
  change(text: string): void
}

export function TemplateField(props: Props) {
  const { text, change } = props
  const { variables } = useContext(Form)
  const box = useRef<HTMLTextAreaElement>(null)
  const caret = useRef<number | null>(null)
  const [offered, setOffered] = useState<string[]>([])
  const [active, setActive] = useState(0)
  const list = `${props.id}-list`

  useEffect(() => {
    if (caret.current === null) return
    box.current?.setSelectionRange(caret.current, caret.current)
    caret.current = null
  }, [text])

  const offer = (value: string, at: number) => {
    const open = openVariable(value, at)
    setOffered(open ? variables.filter((name) => name.startsWith(open.typed) && name !== open.typed) : [])
    setActive(0)
  }
  const insert = (name: string) => {
    const done = completeVariable(text, box.current?.selectionStart ?? text.length, name)
    caret.current = done.caret
    setOffered([])
    change(done.text)
    box.current?.focus()
  }
  const keys = (event: React.KeyboardEvent) => {
    if (!offered.length) return
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setActive((active + (event.key === 'ArrowDown' ? 1 : offered.length - 1)) % offered.length)
    } else if ((event.key === 'Enter' && !event.ctrlKey) || event.key === 'Tab') {
      event.preventDefault()
      insert(offered[active]!)
    } else if (event.key === 'Escape') {
      event.stopPropagation()
      setOffered([])
    }
  }
  return (
    <div className="template">
      <Growing box={box} id={props.id} className="mono" value={text} placeholder={placeholder(props)}
        aria-controls={list} aria-autocomplete="list" aria-describedby={props.describedBy} aria-invalid={props.invalid || undefined}
        aria-activedescendant={offered.length ? `${list}-${active}` : undefined}
        onChange={(e) => { change(e.target.value); offer(e.target.value, e.target.selectionStart) }}
        onKeyDown={keys} onBlur={() => setOffered([])} />
      <ul id={list} role="listbox" aria-label="Variables" className={offered.length ? 'offers' : 'offers none'}>
        {offered.map((name, i) => (
          <li key={name} id={`${list}-${i}`} role="option" aria-selected={i === active} onMouseDown={(e) => { e.preventDefault(); insert(name) }}>{name}</li>
        ))}
      </ul>
      {variables.length > 0 && (
        <div className="chips" role="group" aria-label="Insert a variable">
          {variables.map((name) => <button key={name} type="button" className="chip" onClick={() => insert(name)}>{name}</button>)}
        </div>
      )}
    </div>
  )
}

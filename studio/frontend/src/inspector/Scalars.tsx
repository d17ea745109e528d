// Fields of one value: text, template, number, amount, yes or no, a choice, a set of choices, raw JSON.
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { shortJson, words } from '../lib/text'
import { Form } from './context'
import type { InputProps } from './Field'
import { bounds, readNumber } from './model'
import { TemplateField } from './TemplateField'

const aria = (p: InputProps) => ({ id: p.id, 'aria-describedby': p.describedBy, 'aria-invalid': p.invalid || undefined })

/** A text that may be long is a box that grows; a bounded one is a line. */
export function TextField(props: InputProps) {
  const { templates } = useContext(Form)
  const { value, shape, onChange } = props
  const text = typeof value === 'string' ? value : ''
  const change = (next: string) => onChange(next === '' && shape.nullable ? null : next)
  if (templates.has(props.path)) return <TemplateField {...props} text={text} change={change} />
  const line = shape.schema.maxLength !== undefined || shape.schema.pattern !== undefined || shape.schema.format !== undefined
  if (line) return <input {...aria(props)} type="text" value={text} placeholder={placeholder(props)} onChange={(e) => change(e.target.value)} />
  return <Growing {...aria(props)} value={text} placeholder={placeholder(props)} onChange={(e) => change(e.target.value)} />
}

export const placeholder = (p: InputProps) => (p.shape.nullable && p.shape.fallback == null ? 'not set' : undefined)

export function Growing(props: React.TextareaHTMLAttributes<HTMLTextAreaElement> & { box?: React.RefObject<HTMLTextAreaElement | null> }) {
  const own = useRef<HTMLTextAreaElement>(null)
  const { box = own, ...rest } = props
  useLayoutEffect(() => {
    const area = box.current
    if (!area) return
    area.style.height = 'auto'
    area.style.height = `${Math.min(area.scrollHeight + 2, 360)}px`
  }, [box, props.value])
  return <textarea ref={box} rows={1} spellCheck={false} {...rest} />
}

/** What is being typed is kept as typed, and handed on once it is a number. */
export function NumberField(props: InputProps) {
  const { value, shape, onChange } = props
  const outside = value === null || value === undefined ? '' : String(value)
  const [typed, setTyped] = useState(outside)
  const last = useRef(outside)
  useEffect(() => {
    if (last.current !== outside) setTyped(outside)
    last.current = outside
  }, [outside])
  const integer = shape.schema.type === 'integer'
  const read = readNumber(typed, integer)
  const wrong = read === undefined ? (integer ? 'A whole number.' : 'A number.') : read === null ? (shape.nullable || typed === outside ? null : 'A number is needed.') : bounds(read, shape.schema)
  const change = (text: string) => {
    setTyped(text)
    const next = readNumber(text, integer)
    if (next === undefined || (next === null && !shape.nullable)) return
    last.current = next === null ? '' : String(next)
    onChange(next)
  }
  return (
    <>
      <span className="with-unit">
        <input {...aria(props)} type="text" inputMode={integer ? 'numeric' : 'decimal'} className="num" value={typed} placeholder={shape.nullable ? 'none' : undefined}
          aria-invalid={props.invalid || !!wrong || undefined} onChange={(e) => change(e.target.value)} />
        {shape.unit && <span className="unit">{shape.unit}</span>}
      </span>
      {wrong && <p className="wrongs bad" role="alert">{wrong}</p>}
    </>
  )
}

/** An exact amount: kept as text, so that no digit of money is lost. */
export function AmountField(props: InputProps) {
  const { value, shape, onChange } = props
  const text = value === null || value === undefined ? '' : String(value)
  return (
    <span className="with-unit">
      <input {...aria(props)} type="text" inputMode="decimal" className="num" value={text} placeholder={shape.nullable ? 'none' : undefined}
        onChange={(e) => onChange(e.target.value.trim() === '' && shape.nullable ? null : e.target.value.trim())} />
      {shape.unit && <span className="unit">{shape.unit}</span>}
    </span>
  )
}

export function BoolField(props: InputProps) {
  return <input {...aria(props)} type="checkbox" checked={props.value === true} onChange={(e) => props.onChange(e.target.checked)} />
}

export function EnumField(props: InputProps) {
  const { shape, value, onChange } = props
  const at = shape.options.findIndex((option) => option === value)
  return (
    <select {...aria(props)} value={at} onChange={(e) => onChange(Number(e.target.value) < 0 ? null : shape.options[Number(e.target.value)])}>
      {(shape.nullable || at < 0) && <option value={-1}>{shape.nullable ? 'not set' : 'choose…'}</option>}
      {shape.options.map((option, i) => <option key={i} value={i}>{typeof option === 'string' ? words(option) : shortJson(option)}</option>)}
    </select>
  )
}

export function SetField(props: InputProps) {
  const chosen = Array.isArray(props.value) ? (props.value as unknown[]) : []
  const ordered = props.shape.schema['x-ordered'] === true
  const turned = (option: unknown, on: boolean) => {
    if (ordered) return on ? [...chosen, option] : chosen.filter((each) => each !== option)
    return props.shape.options.filter((each) => (each === option ? on : chosen.includes(each)))
  }
  return (
    <div className="checks" aria-describedby={props.describedBy}>
      {props.shape.options.map((option, i) => (
        <label key={i}>
          <input type="checkbox" checked={chosen.includes(option)} onChange={(e) => props.onChange(turned(option, e.target.checked))} />
          {words(String(option))}{ordered && chosen.includes(option) ? ` · ${chosen.indexOf(option) + 1}` : ''}
        </label>
      ))}
    </div>
  )
}

/** For what no schema describes further: JSON, handed on whenever it can be read. */
export function JsonField(props: InputProps) {
  const outside = props.value === undefined ? '' : JSON.stringify(props.value, null, 2)
  const [text, setText] = useState(outside)
  const [wrong, setWrong] = useState<string | null>(null)
  const last = useRef(outside)
  useEffect(() => {
    if (last.current !== outside) setText(outside)
    last.current = outside
  }, [outside])
  const change = (next: string) => {
    setText(next)
    if (next.trim() === '') {
      setWrong(null)
      last.current = ''
      return props.onChange(props.shape.nullable ? null : undefined)
    }
    try {
      const value: unknown = JSON.parse(next)
      setWrong(null)
      last.current = JSON.stringify(value, null, 2)
      props.onChange(value)
    } catch (error) {
      setWrong((error as Error).message)
    }
  }
  return (
    <>
      <Growing {...aria(props)} className="mono" value={text} aria-invalid={props.invalid || !!wrong || undefined} onChange={(e) => change(e.target.value)} />
      {wrong && <p className="wrongs bad" role="alert">Not JSON yet: {wrong}</p>}
    </>
  )
}

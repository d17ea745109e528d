// Fields that hold fields: objects, lists, and unions whose kind is chosen first.
import { useContext } from 'react'
import type { Obj } from '../api/types'
import { Icon } from '../app/icons'
import { singular } from '../lib/text'
import { isAbout } from '../state/validation'
import { Form } from './context'
import { Field, type InputProps } from './Field'
import { HelpText } from './HelpText'
import { type Member, blank, blankVariant, describe, members, split } from './model'

interface FieldsProps {
  all: readonly Member[]
  object: Obj
  path: string
  onChange(next: Obj, field: string): void
}

/** The fields of an object: those that people change first, the rest folded. */
export function Fields({ all, object, path, onChange }: FieldsProps) {
  const { problems } = useContext(Form)
  const inside = (name: string) => (path ? `${path}.${name}` : name)
  const { first, more } = split(all, object, (name) => problems.some((p) => isAbout(p.path, inside(name)) || p.path.startsWith(`${inside(name)}.`)))
  const draw = (member: Member) => <Field key={member.name} member={member} object={object} path={inside(member.name)} onChange={onChange} />
  return (
    <>
      {first.map(draw)}
      {more.length > 0 && (
        <details className="more">
          <summary>More <span className="muted">{more.map((m) => m.shape.title.toLowerCase()).slice(0, 3).join(', ')}{more.length > 3 ? ' …' : ''}</span></summary>
          {more.map(draw)}
        </details>
      )}
    </>
  )
}

export function ObjectField({ shape, value, path, onChange }: InputProps) {
  const { root } = useContext(Form)
  return <div className="nested"><Fields all={members(shape.schema, root)} object={(value as Obj | null) ?? {}} path={path} onChange={onChange} /></div>
}

export function UnionField({ id, shape, value, path, label, describedBy, onChange }: InputProps) {
  const { root } = useContext(Form)
  const object = (value as Obj | null) ?? (shape.fallback as Obj | null) ?? {}
  const tag = String(object[shape.tagName] ?? shape.variants[0]?.tag ?? '')
  const variant = shape.variants.find((each) => each.tag === tag)
  const keep = (next: Obj) => onChange({ [shape.tagName]: tag, ...next })
  return (
    <div className="nested">
      <select id={id} value={tag} aria-label={`${label}: ${shape.tagName}`} aria-describedby={describedBy}
        onChange={(e) => onChange(blankVariant(shape, shape.variants.find((each) => each.tag === e.target.value)!, root))}>
        {!variant && <option value={tag}>choose…</option>}
        {shape.variants.map((each) => <option key={each.tag} value={each.tag}>{each.label}</option>)}
      </select>
      {variant?.help && <p className="help"><HelpText text={variant.help} /></p>}
      {variant && <Fields all={members(variant.schema, root, shape.tagName)} object={object} path={path} onChange={keep} />}
    </div>
  )
}

export function ListField({ shape, value, path, onChange, label }: InputProps) {
  const { root } = useContext(Form)
  const items = Array.isArray(value) ? (value as unknown[]) : []
  const item = describe(shape.schema.items ?? {}, root, '')
  const set = (i: number, next: unknown) => onChange(items.map((each, j) => (i === j ? next : each)))
  const move = (i: number, by: number) => {
    const next = items.slice()
    const [moved] = next.splice(i, 1)
    next.splice(i + by, 0, moved)
    onChange(next)
  }
  const full = shape.schema.maxItems !== undefined && items.length >= shape.schema.maxItems
  return (
    <div className="nested list">
      {items.map((each, i) => {
        const name = `${singular(label)} ${i + 1}`
        const member: Member = { name: 'item', required: true, unmarked: true, shape: { ...item, title: item.kind === 'object' ? name : `${i + 1}` } }
        return (
          <div key={i} className="item">
            <Field member={member} object={{ item: each }} path={`${path}.${i}`} onChange={(next) => set(i, next.item)} />
            <div className="item-tools">
              <button type="button" className="icon-button" disabled={i === 0} onClick={() => move(i, -1)} aria-label={`Move ${name} up`}><Icon name="up" /></button>
              <button type="button" className="icon-button" disabled={i === items.length - 1} onClick={() => move(i, 1)} aria-label={`Move ${name} down`}><Icon name="down" /></button>
              <button type="button" className="icon-button" onClick={() => onChange(items.filter((_, j) => j !== i))} aria-label={`Remove ${name}`}><Icon name="trash" /></button>
            </div>
          </div>
        )
      })}
      <button type="button" className="small" disabled={full} onClick={() => onChange([...items, blank(item, root)])}><Icon name="plus" /> Add {singular(label.toLowerCase())}</button>
    </div>
  )
}

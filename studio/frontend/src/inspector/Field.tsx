// One field of a form with its label, unit, help, default, reset and what is wrong with it.
import { type ReactNode, useContext } from 'react'
import type { Obj } from '../api/types'
import { Icon } from '../app/icons'
import { isAbout } from '../state/validation'
import { clip, shortJson } from '../lib/text'
import { Form } from './context'
import { type Member, type Shape, blank, withField } from './model'
import { HelpText } from './HelpText'
import { ListField, ObjectField, UnionField } from './Nested'
import { AmountField, BoolField, EnumField, JsonField, NumberField, SetField, TextField } from './Scalars'

export interface InputProps {
  id: string
  shape: Shape
  value: unknown
  path: string
  describedBy: string
  invalid: boolean
  label: string
  onChange(value: unknown): void
}

const INPUTS: Record<Shape['kind'], (props: InputProps) => ReactNode> = {
  text: TextField, number: NumberField, amount: AmountField, bool: BoolField, enum: EnumField, set: SetField, list: ListField,
  object: ObjectField, union: UnionField, json: JsonField,
}

/** Kinds that are several controls: their label is a legend, not a label of one input. */
const GROUPS = new Set<Shape['kind']>(['set', 'list', 'object', 'union'])

interface Props {
  member: Member
  object: Obj
  path: string
  onChange(next: Obj, field: string): void
}

export function Field({ member, object, path, onChange }: Props) {
  const { problems, prefix, root } = useContext(Form)
  const { name, shape, required } = member
  const id = `${prefix}-${path.replace(/[^\w-]/g, '-')}`
  const isSet = name in object
  const value = isSet ? object[name] : shape.fallback ?? (shape.kind === 'object' ? {} : undefined)
  const wrong = problems.filter((problem) => isAbout(problem.path, path))
  const set = (next: unknown) => onChange(withField(object, name, next, shape, required), name)
  const reset = () => {
    const { [name]: _gone, ...rest } = object
    onChange(required ? { ...rest, [name]: blank(shape, root) } : rest, name)
  }
  const Input = INPUTS[shape.kind]
  const group = GROUPS.has(shape.kind)
  const absent = shape.nullable && (value === null || value === undefined)
  const optional = absent && (group || shape.kind === 'json')
  const props: InputProps = {
    id, shape, value, path, label: shape.title, describedBy: `${id}-help${wrong.length ? ` ${id}-wrong` : ''}`, invalid: wrong.some((p) => p.level !== 'warning'), onChange: set,
  }
  const body = (
    <>
      {optional ? (
        <button type="button" className="small" onClick={() => set(shape.kind === 'json' ? {} : blank({ ...shape, nullable: false, hasDefault: false }, root))}>
          <Icon name="plus" /> Set {shape.title.toLowerCase()}
        </button>
      ) : <Input {...props} />}
      <div id={`${id}-help`} className="help">
        <HelpText text={shape.help} />
        {defaultText(shape, isSet)}
      </div>
      {wrong.length > 0 && (
        <ul id={`${id}-wrong`} className="wrongs">
          {wrong.map((problem, i) => (
            <li key={i} className={problem.level === 'warning' ? 'warn' : 'bad'}><HelpText text={problem.message} /></li>
          ))}
        </ul>
      )}
    </>
  )
  const head = (
    <>
      <span className="field-name">{shape.title}{required && !member.unmarked ? <span className="must"> required</span> : null}</span>
      {shape.unit && shape.kind !== 'number' && shape.kind !== 'amount' ? <span className="unit">{shape.unit}</span> : null}
    </>
  )
  const resetButton = isSet && !required ? (
    <button type="button" className="reset" onClick={reset} title={`Reset ${shape.title} to its default`} aria-label={`Reset ${shape.title}`}>
      <Icon name="undo" />
    </button>
  ) : null
  if (group) {
    return (
      <fieldset className="field group" data-field={path}>
        <legend>{head}{resetButton}</legend>
        {body}
      </fieldset>
    )
  }
  return (
    <div className={`field ${shape.kind === 'bool' ? 'inline' : ''}`} data-field={path}>
      <div className="field-head"><label htmlFor={id}>{head}</label>{resetButton}</div>
      {body}
    </div>
  )
}

function defaultText(shape: Shape, isSet: boolean): string {
  if (!isSet || !shape.hasDefault || shape.fallback === null || shape.fallback === '' || typeof shape.fallback === 'object') return ''
  return ` Default: ${clip(shortJson(shape.fallback), 40)}.`
}

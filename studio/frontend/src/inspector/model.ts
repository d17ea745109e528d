// What a JSON Schema asks for, as a form sees it. Pure; knows schemas, never node types.
import type { Obj, Schema } from '../api/types'
import { sameJson, words } from '../lib/text'

export type Kind = 'text' | 'number' | 'amount' | 'bool' | 'enum' | 'set' | 'list' | 'object' | 'union' | 'json'

export interface Variant {
  tag: string
  label: string
  help: string
  schema: Schema
}

export interface Shape {
  kind: Kind
  /** The schema without references and without its null branch. */
  schema: Schema
  nullable: boolean
  title: string
  help: string
  hasDefault: boolean
  /** What a form begins with; of a section, only what differs from its fields' own defaults. */
  fallback: unknown
  /** The default as the schema spells it. */
  spelled: unknown
  unit: string
  /** enum and set */
  options: unknown[]
  /** union */
  tagName: string
  variants: Variant[]
}

export interface Member {
  name: string
  shape: Shape
  required: boolean
  /** Not said to be required: an item of a list is there or not. */
  unmarked?: boolean
}

export function resolve(schema: Schema, root: Schema): Schema {
  let found = schema
  for (let i = 0; i < 20 && found.$ref; i += 1) {
    const { $ref, ...rest } = found
    const target = root.$defs?.[$ref!.replace('#/$defs/', '')] ?? {}
    found = { ...target, ...rest }
  }
  if (found.allOf?.length === 1) {
    const { allOf, ...rest } = found
    return { ...resolve(allOf![0]!, root), ...rest }
  }
  return found
}

/** A schema that says nothing takes null too. */
const anything = (schema: Schema) => !schema.type && !schema.enum && !('const' in schema) && !schema.anyOf && !schema.oneOf && !schema.properties

const SCALARS = new Set(['string', 'number', 'integer'])
const isNull = (schema: Schema) => schema.type === 'null' || schema.const === null

export function describe(raw: Schema, root: Schema, name = ''): Shape {
  const shape = whole(raw, root, name)
  const fields = shape.kind === 'object' ? shape.schema : variantOf(shape, shape.fallback)?.schema
  return fields && isObject(shape.fallback) ? { ...shape, fallback: withoutDefaults(shape.fallback, fields, root, shape.tagName) } : shape
}

const isObject = (value: unknown): value is Obj => typeof value === 'object' && value !== null && !Array.isArray(value)

const variantOf = (shape: Shape, value: unknown) =>
  isObject(value) ? shape.variants.find((each) => each.tag === value[shape.tagName]) : undefined

/** A section's default spells all its fields; only what differs from their own defaults is anything that was set. */
function withoutDefaults(value: Obj, fields: Schema, root: Schema, tagName = ''): Obj {
  const own = new Map(members(fields, root, tagName).map((each) => [each.name, each.shape]))
  return Object.fromEntries(Object.entries(value).filter(([name, each]) => {
    const shape = own.get(name)
    if (!shape?.hasDefault) return true
    const lean = isObject(each) && shape.kind === 'object' ? withoutDefaults(each, shape.schema, root) : each
    return !sameJson(lean, shape.fallback)
  }))
}

function whole(raw: Schema, root: Schema, name: string): Shape {
  const schema = resolve(raw, root)
  const branches = (schema.anyOf ?? schema.oneOf ?? []).map((each) => resolve(each, root))
  const types = Array.isArray(schema.type) ? schema.type : null
  const nullable = branches.some(isNull) || !!types?.includes('null')
  const rest = branches.filter((each) => !isNull(each))
  const { anyOf: _a, oneOf: _o, ...outer } = schema
  const core: Schema = rest.length === 1 ? { ...rest[0], ...outer, ...(rest[0]!.properties ? { description: outer.description ?? rest[0]!.description } : {}) } : schema
  const shape: Shape = {
    kind: 'json', schema: core, nullable: nullable || anything(core), title: words(name ? withoutUnit(name) : schema.title || ''), help: clean(schema.description ?? core.description),
    hasDefault: 'default' in schema, fallback: schema.default, spelled: schema.default, unit: schema['x-unit'] ?? unitOf(name), options: [], tagName: '', variants: [],
  }
  if (rest.length > 1) return union(shape, rest, schema, root)
  // A union that can be null: the branch that is left may itself be a union.
  const inner = (core.oneOf ?? core.anyOf)?.map((each) => resolve(each, root))
  if (rest.length === 1 && inner && inner.length > 1) return union(shape, inner, core, root)
  return single(shape, core, types?.find((each) => each !== 'null') ?? (core.type as string | undefined))
}

function single(shape: Shape, core: Schema, type: string | undefined): Shape {
  if (core.enum) return { ...shape, kind: 'enum', options: core.enum }
  if ('const' in core) return { ...shape, kind: 'enum', options: [core.const] }
  if (type === 'string') return { ...shape, kind: 'text' }
  if (type === 'integer' || type === 'number') return { ...shape, kind: 'number' }
  if (type === 'boolean') return { ...shape, kind: 'bool' }
  if (type === 'array' && core.items) {
    const options = core.items.enum
    return options ? { ...shape, kind: 'set', options } : { ...shape, kind: 'list' }
  }
  if (type === 'object' && core.properties) return { ...shape, kind: 'object' }
  return shape
}

function union(shape: Shape, branches: Schema[], schema: Schema, root: Schema): Shape {
  if (branches.every((each) => SCALARS.has(String(each.type)) && !each.enum)) {
    const bounds = branches.find((each) => each.minimum !== undefined || each.maximum !== undefined)
    return { ...shape, kind: 'amount', schema: { ...schema, minimum: bounds?.minimum, maximum: bounds?.maximum } }
  }
  if (branches.every((each) => each.enum || 'const' in each)) {
    return { ...shape, kind: 'enum', options: branches.flatMap((each) => each.enum ?? [each.const]) }
  }
  const tagName = schema.discriminator?.propertyName ?? commonTag(branches, root)
  if (!tagName) return shape
  const variants = branches.map((each): Variant => {
    const tag = String(resolve(each.properties?.[tagName] ?? {}, root).const ?? each.properties?.[tagName]?.enum?.[0] ?? '')
    return { tag, label: words(tag), help: clean(each.description), schema: each }
  })
  return { ...shape, kind: 'union', tagName, variants }
}

/** The property that has another constant in each branch. */
function commonTag(branches: Schema[], root: Schema): string {
  const names = Object.keys(branches[0]?.properties ?? {})
  const constant = (schema: Schema, name: string) => resolve(schema.properties?.[name] ?? {}, root).const
  return names.find((name) => new Set(branches.map((each) => constant(each, name)).filter((c) => c !== undefined)).size === branches.length) ?? ''
}

const clean = (text: string | undefined) => (text ?? '').replace(/\s+/g, ' ').trim()

const UNITS: [RegExp, string][] = [
  [/(^|_)tokens$/, 'tokens'], [/(^|_)lines$/, 'lines'], [/(^|_)bytes$/, 'bytes'], [/(^|_)chars$/, 'characters'], [/_days$/, 'days'],
  [/_pct$/, '%'], [/_ms$/, 'ms'], [/_s$/, 'seconds'], [/(^|_)usd$/, '$'],
]

/** The unit that a field's name ends with, where its schema gives none. */
export function unitOf(name: string): string {
  return UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? ''
}

/** `timeout_s` is a time-out beside which "seconds" stands. */
const withoutUnit = (name: string) => name.replace(/_(s|ms|pct|days|usd)$/, '')

export function members(schema: Schema, root: Schema, without = ''): Member[] {
  const required = new Set(schema.required ?? [])
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== without)
    .map(([name, each]) => ({ name, shape: describe(each, root, name), required: required.has(name) }))
}

/** What a new value of this shape begins as: its default, else the least that it can be. */
export function blank(shape: Shape, root: Schema): unknown {
  if (shape.hasDefault && shape.fallback !== undefined) return structuredClone(shape.fallback)
  if (shape.nullable) return null
  switch (shape.kind) {
    case 'text': return ''
    case 'number': return shape.schema.minimum ?? 0
    case 'amount': return ''
    case 'bool': return false
    case 'enum': return shape.options[0]
    case 'set':
    case 'list': return []
    case 'union': return blankVariant(shape, shape.variants[0]!, root)
    case 'object': return blankObject(shape.schema, root)
    default: return {}
  }
}

function blankObject(schema: Schema, root: Schema): Obj {
  return Object.fromEntries(members(schema, root).filter((m) => m.required).map((m) => [m.name, blank(m.shape, root)]))
}

export function blankVariant(shape: Shape, variant: Variant, root: Schema): Obj {
  return { [shape.tagName]: variant.tag, ...Object.fromEntries(Object.entries(blankObject(variant.schema, root)).filter(([n]) => n !== shape.tagName)) }
}

/** An object with one field set; a field that has its default again is left out, so that documents stay small. */
export function withField(object: Obj, name: string, value: unknown, shape: Shape, required: boolean): Obj {
  const next = { ...object }
  const isDefault = shape.hasDefault ? sameJson(value, shape.fallback) || sameJson(value, shape.spelled) : value === null || value === undefined
  if (isDefault && !required) delete next[name]
  else next[name] = value
  return next
}

export const FIRST_FIELDS = 4

/** The fields shown at once: required ones, those that are set, the first few; the rest is folded under "More". */
export function split(all: readonly Member[], value: Obj, wrong: (name: string) => boolean): { first: Member[]; more: Member[] } {
  if (all.length <= FIRST_FIELDS + 2) return { first: [...all], more: [] }
  const isFirst = (m: Member, i: number) => i < FIRST_FIELDS || m.required || wrong(m.name) || (m.name in value && m.shape.kind !== 'object')
  return { first: all.filter(isFirst), more: all.filter((m, i) => !isFirst(m, i)) }
}

/** What a person typed into a number field: a number, null for nothing, undefined for what is no number. */
export function readNumber(text: string, integer: boolean): number | null | undefined {
  if (text.trim() === '') return null
  const value = Number(text.trim().replace(/[, _](?=\d{3}\b)/g, ''))
  return !Number.isFinite(value) || (integer && !Number.isInteger(value)) ? undefined : value
}

/** What a form can say before the server does. */
export function bounds(value: number, schema: Schema): string | null {
  if (schema.minimum !== undefined && value < schema.minimum) return `At least ${schema.minimum}.`
  if (schema.maximum !== undefined && value > schema.maximum) return `At most ${schema.maximum}.`
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) return `More than ${schema.exclusiveMinimum}.`
  if (schema.exclusiveMaximum !== undefined && value >= schema.exclusiveMaximum) return `Less than ${schema.exclusiveMaximum}.`
  return null
}

/** What is typed after the last open `{{` before the caret; null where no variable is being written. */
export function openVariable(text: string, caret: number): { from: number; typed: string } | null {
  const before = text.slice(0, caret)
  const start = before.lastIndexOf('{{')
  if (start < 0 || before.indexOf('}}', start) >= 0) return null
  const typed = /[\p{L}\p{N}_.-]*$/u.exec(before.slice(start + 2))?.[0] ?? ''
  return { from: caret - typed.length, typed }
}

export function completeVariable(text: string, caret: number, name: string): { text: string; caret: number } {
  const open = openVariable(text, caret)
  if (!open) {
    const insert = `{{ ${name} }}`
    return { text: text.slice(0, caret) + insert + text.slice(caret), caret: caret + insert.length }
  }
  const pad = text[open.from - 1] === '{' ? ' ' : ''
  const closed = /^\s*\}\}/.test(text.slice(caret))
  const insert = `${pad}${name}${closed ? '' : ' }}'}`
  return { text: text.slice(0, open.from) + insert + text.slice(caret), caret: open.from + insert.length }
}

// A form made from a JSON Schema: a node's config, or the input of a run.
import { useMemo } from 'react'
import type { Obj, Schema } from '../api/types'
import { Form, type FormProblem } from './context'
import { members } from './model'
import { Fields } from './Nested'

interface Props {
  schema: Schema
  value: Obj
  prefix: string
  onChange(next: Obj, field: string): void
  problems?: readonly FormProblem[]
  variables?: readonly string[]
  templates?: readonly string[]
}

const NONE: readonly never[] = []

export function SchemaForm({ schema, value, prefix, onChange, problems = NONE, variables = NONE, templates = NONE }: Props) {
  const all = useMemo(() => members(schema, schema), [schema])
  const form = useMemo(
    () => ({ root: schema, problems, variables, templates: new Set(templates), prefix }),
    [schema, problems, variables, templates, prefix],
  )
  if (!all.length) return <p className="help">Nothing to set here.</p>
  return <Form value={form}><div className="form"><Fields all={all} object={value} path="" onChange={onChange} /></div></Form>
}

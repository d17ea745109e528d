// What every field of a form may ask for, without being handed it level by level.
import { createContext } from 'react'
import type { Schema } from '../api/types'

export interface FormProblem {
  path: string
  message: string
  level?: string
}

export interface FormContext {
  root: Schema
  problems: readonly FormProblem[]
  /** Names that a template can use. */
  variables: readonly string[]
  /** Paths of fields that are templates. */
  templates: ReadonlySet<string>
  /** Makes ids of fields unique on the page. */
  prefix: string
}

export const Form = createContext<FormContext>({ root: {}, problems: [], variables: [], templates: new Set(), prefix: 'f' })

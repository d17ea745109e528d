// Shapes of the API under /api/v1. Money is a decimal string of dollars, inside events integer nano-dollars.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type Obj = Record<string, unknown>
export type PortKind = 'message' | 'memory' | 'budget' | 'tool'

export interface Port {
  name: string
  kind: PortKind
  title?: string
  many?: boolean
  required?: boolean
}

export interface Schema {
  type?: string | string[]
  title?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  const?: unknown
  format?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  pattern?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  discriminator?: { propertyName: string; mapping?: Record<string, string> }
  $ref?: string
  $defs?: Record<string, Schema>
  'x-unit'?: string
  /** Choices in the order in which they were made. */
  'x-ordered'?: boolean
}

export interface NodeType {
  name: string
  title: string
  category: string
  help: string
  icon: string
  version: number
  inputs: Port[]
  outputs: Port[]
  schema: Schema
  templates: string[]
  keywords: string[]
  attachment: boolean
  entry: boolean
  result: boolean
}

export interface NodeDoc {
  id: string
  type: string
  version?: number
  config?: Obj
  ui?: Obj
}

export interface EdgeDoc {
  source: string
  target: string
  source_port?: string
  target_port?: string
}

export interface FlowDoc {
  $schema?: string
  format?: string
  id?: string
  name: string
  description?: string
  nodes: NodeDoc[]
  edges: EdgeDoc[]
  ui?: Obj
}

export interface Problem {
  code: string
  message: string
  remedy?: string | null
  node_id?: string | null
  path?: string | null
  level?: 'error' | 'warning'
}

export interface Card {
  summary: string
  inputs: Port[]
  outputs: Port[]
}

export interface Validation {
  problems: Problem[]
  cards: Record<string, Card>
  needs: string[]
  needs_hash: string | null
  granted: boolean
  input: { schema: Schema | null; title: string } | null
  agents: { node_id: string; model: string | null; provider: string; rehearsal: boolean; limits: string[] }[]
}

export interface Usage {
  input?: number
  cached?: number
  cache_write?: number
  output?: number
  reasoning?: number
}

/** A budget as it stood. Amounts: tokens, nano-dollars, or (outside events) decimal strings of dollars. */
export interface Gauge {
  budget: string
  pot: string
  metric: string
  period: string
  used: number | string
  held: number | string
  limit: number | string | null
  threshold_pct?: number | null
  unknown?: number
  node_id?: string | null
  resets_at?: string | null
  field?: string | null
}

export interface CallError {
  code: string
  message: string
  remedy?: string | null
  status?: number | null
}

export interface Me {
  user: string
  role: string
  version: string
  db: string
  folder: string
  rehearsal_default: boolean
  model: { name: string; provider: string; rehearsal: boolean; why: string }
  limits: { name: string; text: string; gauge?: Gauge | null }[]
}

export interface FlowEntry {
  path: string
  id: string | null
  name: string
  description: string
  modified: string
  hash: string
  error?: string | null
}

export interface ExampleEntry {
  name: string
  title: string
  description: string
  nodes: number
}

export interface OpenedFlow {
  path: string
  hash: string
  flow: FlowDoc
  warnings: Problem[]
  changes: string[]
}

export interface RunAnswer {
  run_id: string
  session_uid: string
  session: string
  rehearsal: boolean
}

export interface RunInfo {
  run_id: string
  session_uid: string
  session: string
  state: string
  outputs: Obj
  usage: Usage | null
  cost: string | null
  unknown_cost: number
  error: CallError | null
  flow_hash: string
  model: string | null
  input: unknown
  started_at: string | null
  finished_at: string | null
  budgets: Gauge[]
}

export interface SessionInfo {
  uid: string
  name: string
  user_id: string | null
  flow_id: string
  flow_name: string
  partition: string
  state: string
  opened_at: string
  last_at: string
  runs: number
  events: number
  usage: Usage | null
  cost: string | null
  unknown_cost: number
}

/** One event of a timeline; what it holds besides depends on its type. */
export interface Event {
  session_uid: string
  seq: number
  type: string
  at: string
  run_id?: string | null
  node_id?: string | null
  step?: number | null
  v?: number
  [field: string]: unknown
}

export interface Delta {
  run_id: string
  node_id: string
  call: string
  offset: number
  text: string
}

export interface ShelfKey {
  namespace: string
  scope: string
  owner: string
}

export interface ShelfInfo extends ShelfKey {
  count: number
  /** The name of the session whose shelf it is, and of the flow whose id is the namespace; null where there is none. */
  session?: string | null
  flow?: string | null
}

export interface Fact {
  key: string
  value: unknown
  kind?: string
  version?: number
  state?: string
  origin?: string
  confidence?: number
  recorded_at: string
  valid_from?: string | null
  valid_to?: string | null
  source?: string | null
  step?: number | null
  actor?: string | null
  seen?: number
  shelf: ShelfKey
}

export interface FactsPage {
  shelves: ShelfInfo[]
  facts: Fact[]
  left_out?: number
  shelves_left_out?: number
  next?: string | null
  /** Versions in conflict, and the last version of each key that is no longer current. */
  apart?: Fact[]
  /** Which of these facts contradict each other. */
  marks?: Mark[]
}

export interface FactThen {
  fact: Fact
  sent: boolean
  read: boolean
  wrote: string | null
  before: Fact | null
}

/** Facts as they were once a step was through. */
export interface StepFacts {
  seq: number
  at: string
  part: string
  shelves: ShelfKey[]
  facts: FactThen[]
  forgot: string[]
  internal: number
  left_out: number
}

export interface BillItem {
  ref: string
  tokens: number
  score: number | null
  source: string | null
  why: string | null
  section?: string
}

export interface BillPart {
  name: string
  tokens: number
  share: number
  cached: number
  cost: string | null
  items: BillItem[]
  more: number
  first: number | null
  messages: number | null
}

export interface GaveWay {
  stage: number
  name: string
  items: number
  before: number
  after: number
}

export interface BillDoc {
  complete: boolean
  window: number | null
  output_buffer: number | null
  tokens: number
  parts: BillPart[]
  gave_way: GaveWay[]
  left_out: BillItem[]
  left_out_count: number
  usage: Usage | null
  estimated: boolean
  cost: string | null
  answer_tokens: number
  answer_cost: string | null
  priced: boolean
}

export interface Recall {
  stable: string
  recalled: string
  tokens: number
  allowance: number
  items: BillItem[]
  left_out: BillItem[]
  warnings: string[]
  known: boolean
  /** Whose Memory was asked, and all that may be asked for, by the flow's id and name. */
  flow: string
  flows: { id: string; name: string }[]
}

export interface Moved {
  moved: boolean
  keys: string[]
  there: string[]
  versions: number
}

/** One change that a consolidation would make, with what both facts say now. */
export interface Change {
  id: string
  action: string
  key: string
  version: number
  why: string
  by: string | null
  text: string | null
  judged_in: string | null
  fact: Fact | null
  other: Fact | null
}

/** Two facts that cannot both be true. */
export interface Mark {
  key: string
  version: number
  other: string
  other_version: number
  why: string
  judged_in: string | null
}

/** How far a judgement by a model or a consolidation is. */
export interface CareProgress {
  what: 'judging' | 'changes'
  state: string
  batch: string
  at: string
  done: number
  of: number
  tokens: number
  cost: string | null
  unknown: number
  made: number
  skipped: string[]
  error: string | null
  remedy: string | null
}

/** What a model could be asked about a user's facts, and what that may use at most. */
export interface Asking {
  model: string | null
  why: string | null
  pairs: number
  calls: number
  tokens: number
  cost: string | null
  models: Offer[]
}

/** A model that could be asked: dollars a million tokens, and what asking uses at most. Null: unknown. */
export interface Offer {
  name: string
  default: boolean
  free: boolean
  input: string | null
  output: string | null
  calls: number
  tokens: number
  cost: string | null
}

export interface ShelfPlan {
  shelf: ShelfKey
  /** The first of them; `ids` has those of all. */
  changes: Change[]
  ids: string[]
  conflicts: string[]
  marks: Mark[]
  more: number
  /** Conflicts and marks in all. */
  waiting: number
}

export interface Consolidation {
  user: string
  plan: string
  shelves: ShelfPlan[]
  previewed: string | null
  stale: { shelf: ShelfKey; key: string; action: string; by: string | null }[]
  undoable: boolean
  last: CareProgress | null
}

/** What an erasure reached, or would reach: how often, by kind of place. `left`: where too short a text was let stand. */
export interface Receipt {
  receipt: string | null
  erased: boolean
  at: string
  actor: string
  places: Record<string, number>
  left: Record<string, number>
  swept: boolean
  remains: boolean
  not_reached: string[]
}

export interface BudgetKey {
  pot: string
  metric: string
  period: string
  owner: string
  start: string
}

export interface BudgetInfo {
  key: BudgetKey
  name: string | null
  /** The name of the flow whose budget it is; null where it is of none. */
  flow: string | null
  /** The name of the session whose budget it is, or in which the run was; null where it is of none. */
  session: string | null
  used: number | string
  held: number | string
  unknown: number
  limit: number | string | null
  /** The limit where nobody raised it; null where it is not known. */
  own_limit: number | string | null
  threshold_pct: number | null
  resets_at: string | null
  current: boolean
}

/** A row of the ledger: kind hold, settle, release, correct, raise or reset. Costs are decimal strings. */
export interface LedgerRow {
  id: number
  at: string
  kind: string
  status: string | null
  run_id: string | null
  flow_id: string | null
  node_id: string | null
  purpose: string | null
  model: string | null
  usage: Usage
  cost: string | null
  cost_source: string | null
  estimated: boolean
  amount: number | string | null
  metric: string | null
  period: string | null
  owner: string | null
  start: string | null
  for_good: boolean
  actor: string | null
  reason: string | null
}

export interface SpendLine {
  group: Record<string, string | null>
  calls: number
  usage: Usage
  cost: string | null
  unknown: number
  estimated: number
}

export interface ProviderInfo {
  name: string
  configured: boolean
  needs: string | null
  takes_key: boolean
  key_from: string | null
  default_model: string | null
  free: boolean
}

export interface Settings {
  model?: { name: string; provider: string; rehearsal: boolean; why: string }
  providers: ProviderInfo[]
  budgets: { name: string; text: string; everyone: boolean; flow: string | null; provider: string | null; paid_only: boolean }[]
  warnings: string[]
  paths: Record<string, string>
}

// The typed client: one function a route. An answer that is not a success becomes an ApiError with the API's words.
import type {
  Asking, BillDoc, BudgetInfo, BudgetKey, CareProgress, Change, Consolidation, Event, ExampleEntry, Fact, FactsPage, FlowDoc, FlowEntry, LedgerRow, Mark, Me, Moved, NodeType, OpenedFlow, Problem, Recall, Receipt,
  RunAnswer, RunInfo, SessionInfo, Settings, ShelfKey, SpendLine, StepFacts, Usage, Validation,
} from './types'

export const BASE = '/api/v1'

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
    readonly nodeId: string | null = null,
    readonly problems: Problem[] = [],
    readonly body: Record<string, unknown> = {},
  ) {
    super(message)
  }
}

/** Called at every 401, so that one page can say how to open the studio again. */
let onUnauthorized: () => void = () => undefined
export function whenUnauthorized(act: () => void): void {
  onUnauthorized = act
}

export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const found = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== '') found.set(name, String(value))
  }
  const text = found.toString()
  return text ? `?${text}` : ''
}

export async function failure(response: Response): Promise<ApiError> {
  let body: Record<string, unknown> = {}
  try {
    body = (await response.json()) as Record<string, unknown>
  } catch {
    // A proxy or a crash answered with something that is not ours; the status says enough.
  }
  const error = (body.error ?? {}) as Record<string, unknown>
  return new ApiError(
    response.status,
    String(error.code ?? `http.${response.status}`),
    String(error.message ?? `The studio answered ${response.status} ${response.statusText}`.trim()),
    (error.hint as string | null | undefined) ?? null,
    (error.node_id as string | null | undefined) ?? null,
    (error.problems as Problem[] | undefined) ?? [],
    { ...body, ...error },
  )
}

async function call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  let response: Response
  try {
    response = await fetch(BASE + path, {
      method,
      credentials: 'same-origin',
      headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch {
    throw new ApiError(0, 'studio.unreachable', 'The studio does not answer.', 'Start it again with `farthing studio`.')
  }
  if (response.status === 401) onUnauthorized()
  if (!response.ok) throw await failure(response)
  // Read whatever comes, wanted or not: an answer that is left unread keeps its connection, of which a browser has six.
  const text = await response.text()
  return (text ? JSON.parse(text) : undefined) as T
}

const get = <T>(path: string) => call<T>('GET', path)
const post = <T>(path: string, body?: unknown, headers?: Record<string, string>) => call<T>('POST', path, body ?? {}, headers)
const put = <T>(path: string, body: unknown) => call<T>('PUT', path, body)

/** A flow's path keeps its slashes; each part of it is escaped. */
const inside = (path: string) => path.split('/').map(encodeURIComponent).join('/')
const one = encodeURIComponent
/** A shelf's key alone: a name that a route does not have is refused. */
const keyOf = ({ namespace, scope, owner }: ShelfKey): ShelfKey => ({ namespace, scope, owner })

export interface RunRequest {
  path?: string
  flow?: FlowDoc
  base_path?: string
  input: unknown
  session?: string
  user?: string
  model?: string
  limits?: string[]
  allow?: string
}

export interface SessionFilter {
  flow?: string
  user?: string
  state?: string
  text?: string
  min_cost?: string
  since?: string
  until?: string
  before?: string
  limit?: number
  rehearsal?: boolean
}

export const api = {
  exchange: (token: string) => post<void>('/auth/exchange', { token }),
  me: () => get<Me>('/me'),
  nodes: () => get<{ types: NodeType[] }>('/nodes'),

  flows: () => get<{ folder: string; flows: FlowEntry[] }>('/flows'),
  examples: () => get<{ examples: ExampleEntry[] }>('/examples'),
  example: (name: string) => get<{ flow: FlowDoc; script?: boolean }>(`/examples/${one(name)}`),
  flow: (path: string) => get<OpenedFlow>(`/flows/${inside(path)}`),
  flowHash: (path: string) => get<{ hash: string }>(`/flows/${inside(path)}/hash`),
  saveFlow: (path: string, flow: FlowDoc, base_hash: string | null) =>
    put<{ path: string; hash: string; flow: FlowDoc }>(`/flows/${inside(path)}`, { flow, base_hash }),
  deleteFlow: (path: string, base_hash: string) => call<void>('DELETE', `/flows/${inside(path)}${query({ base_hash })}`),
  duplicateFlow: (path: string, to: string) => post<{ path: string }>(`/flows/${inside(path)}/duplicate`, { to }),
  validate: (flow: FlowDoc, path: string | null) => post<Validation>('/validate', { flow, path }),

  startRun: (request: RunRequest, key: string) => post<RunAnswer>('/runs', request, { 'idempotency-key': key }),
  run: (id: string) => get<RunInfo>(`/runs/${one(id)}`),
  cancelRun: (id: string) => post<void>(`/runs/${one(id)}/cancel`),
  runFlow: (id: string) => get<FlowDoc | { flow: FlowDoc }>(`/runs/${one(id)}/flow`).then((answer) => ('flow' in answer ? answer.flow : answer)),

  sessions: (filter: SessionFilter) =>
    get<{ sessions: SessionInfo[]; next: string | null; hidden_rehearsals: number }>(`/sessions${query({ ...filter })}`),
  session: (uid: string) => get<Omit<SessionInfo, 'runs'> & { runs: RunInfo[]; run_count: number; first_seq: number }>(`/sessions/${one(uid)}`),
  events: (uid: string, after: number, limit = 1000) =>
    get<{ events: Event[]; next: number | null; first_seq: number }>(`/sessions/${one(uid)}/events${query({ after, limit })}`),
  eventsUrl: (uid: string, after: number, run?: string) => `${BASE}/sessions/${one(uid)}/events${query({ stream: 1, after, run })}`,

  stepFacts: (uid: string, seq: number) => get<StepFacts>(`/sessions/${one(uid)}/facts${query({ seq })}`),
  bill: (uid: string, seq: number) => get<BillDoc>(`/sessions/${one(uid)}/context${query({ seq })}`),
  exportUrl: (uid: string, form: string, run: string | null) => `${BASE}/sessions/${one(uid)}/export${query({ form, run })}`,

  facts: (filter: Record<string, string | number | boolean | undefined>) => get<FactsPage>(`/facts${query(filter)}`),
  factVersions: (shelf: ShelfKey, key: string, rehearsal: boolean) =>
    get<{ versions: Fact[] }>(`/facts/versions${query({ ...keyOf(shelf), key, rehearsal })}`).then((answer) => answer.versions),
  writeFact: (shelf: ShelfKey, fact: { key: string; value: unknown; kind?: string; expect_version?: number; rehearsal: boolean }) =>
    put<unknown>('/facts', { ...keyOf(shelf), ...fact }),
  forgetFacts: (shelf: ShelfKey, keys: string[], rehearsal: boolean) => post<unknown>('/facts/forget', { ...keyOf(shelf), keys, rehearsal }),
  undoFact: (shelf: ShelfKey, key: string, rehearsal: boolean) => post<unknown>('/facts/undo', { ...keyOf(shelf), key, rehearsal }),
  eraseFacts: (shelf: ShelfKey, keys: string[], preview: boolean, rehearsal: boolean) => post<Receipt>('/facts/erase', { ...keyOf(shelf), keys, preview, rehearsal }),

  settleFact: (shelf: ShelfKey, key: string, keep: number, rehearsal: boolean) => post<unknown>('/facts/settle', { ...keyOf(shelf), key, keep, rehearsal }),
  moveFacts: (shelf: ShelfKey, to: ShelfKey, keys: string[], preview: boolean, rehearsal: boolean) =>
    post<Moved>('/facts/move', { ...keyOf(shelf), to: { ...keyOf(to), rehearsal }, keys, preview, rehearsal }),
  recall: ({ namespace, scope, owner }: ShelfKey, q: string, tokens: number | undefined, flow: string, rehearsal: boolean) =>
    get<Recall>(`/memory/recall${query({ namespace, scope, owner, q, tokens, flow, rehearsal })}`),
  consolidation: (user: string, rehearsal: boolean) => get<Consolidation>(`/memory/consolidation${query({ user, rehearsal })}`),
  careProgress: (user: string, rehearsal: boolean) =>
    get<{ last: CareProgress | null }>(`/memory/consolidation/progress${query({ user, rehearsal })}`).then((answer) => answer.last),
  consolidate: (user: string, rehearsal: boolean, plan: string, leave: string[]) => post<void>('/memory/consolidate', { user, rehearsal, plan, leave }),
  changes: (user: string, rehearsal: boolean, { namespace, scope, owner }: ShelfKey, plan: string, text: string, offset: number, limit: number) =>
    get<{ changes: Change[]; ids: string[] }>(`/memory/consolidation/changes${query({ user, rehearsal, namespace, scope, owner, plan, text, offset, limit })}`),
  judging: (user: string, rehearsal: boolean, model?: string) => get<Asking>(`/memory/judging${query({ user, rehearsal, model })}`),
  judge: (user: string, rehearsal: boolean, model: string, limits: string[]) => post<void>('/memory/judge', { user, rehearsal, model: rehearsal ? null : model, limits }),
  cancelJudging: (user: string, rehearsal: boolean) => post<void>('/memory/judge/cancel', { user, rehearsal }),
  settleMark: (shelf: ShelfKey, right: string, other: string, both: boolean, rehearsal: boolean) => post<Mark>('/memory/settle', { ...shelf, right, other, both, rehearsal }),
  undoConsolidation: (user: string, rehearsal: boolean) => post<{ keys: string[]; left: string[] }>('/memory/undo', { user, rehearsal }),

  budgets: (filter: { user?: string; rehearsal?: boolean }) => get<{ budgets: BudgetInfo[] }>(`/budgets${query(filter)}`),
  raise: (key: BudgetKey, amount: string, for_good: boolean, reason: string, rehearsal: boolean) =>
    post<BudgetInfo>('/budgets/raise', { key, amount, for_good, reason, rehearsal }),
  ledger: (filter: Record<string, string | number | boolean | undefined>) =>
    get<{ rows: LedgerRow[]; next: number | null; flows: Record<string, string> }>(`/ledger${query(filter)}`),
  spend: (filter: Record<string, string | number | boolean | undefined>) =>
    get<{ lines: SpendLine[]; totals: { calls: number; usage: Usage; cost: string | null; unknown: number; estimated: number }; flows?: Record<string, string> }>(
      `/spend${query(filter)}`),

  settings: () => get<Settings>('/settings'),
  testModel: (model: string) =>
    post<{ ok: boolean; ms: number; usage: Usage | null; cost: string | null; error?: CallErrorLike | string | null }>('/models/test', { model }),
  saveKey: (provider: string, key: string) => put<void>('/models/key', { provider, key }),
}

interface CallErrorLike {
  code: string
  message: string
  remedy?: string | null
}

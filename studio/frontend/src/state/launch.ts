// What a run is to be started with: input, session, user. And starting it, after the questions that must be asked first.
import { create } from 'zustand'
import type { RunRequest } from '../api/client'
import type { Obj } from '../api/types'
import { useCatalog } from './catalog'
import { checkNow, isChecked } from './checking'
import { currentDoc, dirty, useFlow } from './flow'
import { useRun } from './run'
import { useUi } from './ui'
import { isError, useValidation } from './validation'

export type Question = { kind: 'paid'; models: string[]; limits: string[] } | { kind: 'needs'; needs: string[]; hash: string }

interface LaunchState {
  text: string
  fields: Obj
  session: string
  user: string
  question: (Question & { request: RunRequest }) | null
  /** Run was pressed, and the validator is asked first. */
  asking: boolean
  set(values: Partial<Pick<LaunchState, 'text' | 'fields' | 'session' | 'user' | 'question'>>): void
  reset(): void
}

export const useLaunch = create<LaunchState>()((set) => ({
  text: '',
  fields: {},
  session: '',
  user: '',
  question: null,
  asking: false,
  set: (values) => set(values),
  reset: () => set({ text: '', fields: {}, session: '', question: null, asking: false }),
}))

export const wantsFields = () => !!useValidation.getState().input?.schema
export const inputNow = (): unknown => (wantsFields() ? useLaunch.getState().fields : useLaunch.getState().text)

/** Fields of the input's form that a run asks for and nobody has filled in. */
export function missingFields(): string[] {
  const schema = useValidation.getState().input?.schema as { required?: string[]; properties?: Record<string, { default?: unknown }> } | null | undefined
  const { fields } = useLaunch.getState()
  return (schema?.required ?? []).filter((name) => [undefined, null, ''].includes(fields[name] as never) && schema?.properties?.[name]?.default === undefined)
}

/** Whether the flow takes a text and none was typed: a model would be paid to answer nothing. */
export const saysNothing = () => {
  const { input } = useValidation.getState()
  return !!input && !input.schema && !useLaunch.getState().text.trim()
}

export function request(): RunRequest {
  const { session, user } = useLaunch.getState()
  const flow = useFlow.getState()
  const from = flow.path ?? (flow.origin || undefined)
  // What is unchanged runs by its file; unsaved work runs as it stands, as a draft of what it came from.
  const what = from && !dirty(flow) ? { path: from } : { flow: currentDoc(), ...(from ? { base_path: from } : {}) }
  return { ...what, input: inputNow(), ...(session ? { session } : {}), ...(user ? { user } : {}) }
}

/** Ask what must be asked, then start: what is filled in now, or the run that is given. */
export async function launch(given?: RunRequest, answered: readonly Question['kind'][] = []): Promise<void> {
  const { status } = useRun.getState()
  if (status === 'running' || status === 'starting' || useLaunch.getState().asking) return
  const flow = useFlow.getState()
  if (!isChecked() || useValidation.getState().problems.some(isError)) {
    // Nothing is refused, and nothing asked, by an answer about an earlier state of the flow.
    useLaunch.setState({ asking: true })
    await checkNow()
    useLaunch.setState({ asking: false })
    const now = useFlow.getState()
    if (!now.loaded || now.path !== flow.path || now.origin !== flow.origin) return
  }
  proceed(given, answered)
}

function proceed(given: RunRequest | undefined, answered: readonly Question['kind'][]): void {
  const { needs, needs_hash, granted, agents, problems, state, error } = useValidation.getState()
  const ui = useUi.getState()
  if (state === 'failed') return ui.say(`The flow could not be checked: ${error}`, true)
  if (problems.some(isError)) {
    ui.set({ drawer: true, tab: 'problems' })
    ui.say('This flow has problems that must be mended first.', true)
    return
  }
  // A run that is begun again brings its own input.
  const missing = given ? [] : missingFields()
  if (missing.length) {
    ui.set({ drawer: true, tab: 'chat' })
    ui.say(`Fill in ${missing.join(', ')} first.`, true)
    setTimeout(() => document.querySelector<HTMLElement>(`.composer [data-field="${CSS.escape(missing[0]!)}"] :is(input, textarea, select)`)?.focus(), 30)
    return
  }
  if (!given && saysNothing()) {
    ui.set({ drawer: true, tab: 'chat' })
    ui.say('Type something for the flow first.', true)
    setTimeout(() => document.querySelector<HTMLElement>('.composer textarea')?.focus(), 30)
    return
  }
  // Only now: whether a form or a text is asked for, the validator has said.
  const wanted = given ?? request()
  if (!granted && needs_hash && !answered.includes('needs')) {
    useLaunch.getState().set({ question: { kind: 'needs', needs, hash: needs_hash, request: { ...wanted, allow: needs_hash } } })
    return
  }
  const paid = [...new Set(agents.filter((agent) => !agent.rehearsal).map((agent) => agent.model ?? agent.provider))]
  if (paid.some((model) => !ui.paidConfirmed.includes(model)) && !answered.includes('paid')) {
    const limits = [...new Set([...agents.flatMap((agent) => agent.limits), ...(useCatalog.getState().me?.limits ?? []).map((limit) => limit.text)])]
    useLaunch.getState().set({ question: { kind: 'paid', models: paid, limits, request: wanted } })
    return
  }
  useLaunch.getState().set({ question: null })
  ui.set({ drawer: true, tab: ui.tab === 'timeline' || ui.tab === 'events' ? ui.tab : 'chat', row: null })
  void useRun.getState().start(wanted).then(() => {
    const { session } = useLaunch.getState()
    const name = useRun.getState().sessionName
    if (!useRun.getState().startError) useLaunch.getState().set({ text: '', ...(session ? {} : { session: name }) })
  })
}

// What the server's one validator says of the open flow: problems, cards and ports, needs, the form of its input.
import { create } from 'zustand'
import { api } from '../api/client'
import { remedyHere } from '../app/remedies'
import { sameJson, sentence, words } from '../lib/text'
import type { FlowDoc, Problem, Validation } from '../api/types'

interface ValidationState extends Validation {
  state: 'unknown' | 'checking' | 'current' | 'failed'
  error: string | null
  /** Which state of the flow this is about: its `rev`. */
  rev: number | null
  byNode: Record<string, Problem[]>
  /** Resolves when the answer to the newest question is there, which may be a later one than this. */
  check(doc: FlowDoc, path: string | null, rev: number): Promise<void>
  reset(): void
}

const NOTHING: Validation = { problems: [], cards: {}, needs: [], needs_hash: null, granted: true, input: null, agents: [] }
const NO_PROBLEMS: Problem[] = []
let newest = 0
let latest: Promise<void> = Promise.resolve()

export function groupByNode(problems: readonly Problem[]): Record<string, Problem[]> {
  const found: Record<string, Problem[]> = {}
  for (const problem of problems) {
    if (problem.node_id) (found[problem.node_id] ??= []).push(problem)
  }
  return found
}

/** What did not change stays the same object, so that only what changed is drawn anew. */
function shared<T>(before: Record<string, T>, after: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(after).map(([id, value]) => [id, sameJson(before[id], value) ? before[id]! : value]))
}

export const useValidation = create<ValidationState>()((set) => {
  const ask = async (mine: number, doc: FlowDoc, path: string | null, rev: number): Promise<void> => {
    try {
      const found = await api.validate(doc, path)
      if (mine !== newest) return latest
      const problems = found.problems.map((each) => ({ ...each, remedy: remedyHere(each.code, each.remedy) }))
      set((s) => ({
        ...NOTHING, ...found, problems, state: 'current', error: null, rev,
        cards: shared(s.cards, found.cards ?? {}), byNode: shared(s.byNode, groupByNode(problems)), input: sameJson(s.input, found.input) ? s.input : found.input,
      }))
    } catch (error) {
      if (mine !== newest) return latest
      set({ state: 'failed', error: (error as Error).message })
    }
  }
  return {
    ...NOTHING,
    state: 'unknown',
    error: null,
    rev: null,
    byNode: {},
    check(doc, path, rev) {
      set({ state: 'checking' })
      latest = ask(++newest, doc, path, rev)
      return latest
    },
    reset: () => {
      newest += 1
      latest = Promise.resolve()
      set({ ...NOTHING, byNode: {}, state: 'unknown', error: null, rev: null })
    },
  }
})

export const problemsOf = (id: string) => (s: ValidationState) => s.byNode[id] ?? NO_PROBLEMS
/** What a problem says, without the path that the page shows as a place. */
export function problemText(problem: Pick<Problem, 'message' | 'remedy' | 'path'>): string {
  const { path, message } = problem
  const rest = path && message.startsWith(path) ? message.slice(path.length) : null
  // "$.nodes[9].config.limit is missing" is said as "Limit is missing".
  const bare = rest?.startsWith(': ') ? rest.slice(2) : rest?.startsWith(' ') ? `${words(/([\w-]+)(?:\[\d+\])*$/.exec(path!)?.[1] ?? '')}${rest}` : message
  return `${sentence(bare)} ${sentence(problem.remedy)}`.trim()
}

export const isError = (problem: Problem) => problem.level !== 'warning'

/** The part of a problem's path that is inside the node's config: `config.context.keep` → `context.keep`. */
export function fieldPath(problem: Problem): string | null {
  if (!problem.path) return null
  const parts = problem.path.replace(/\[(\d+)\]/g, '.$1').split('.').filter(Boolean)
  const at = parts.indexOf('config')
  return at < 0 ? null : parts.slice(at + 1).join('.')
}

/** Whether a problem is about this field itself. Unions put their tag into the path, so a longer path may match. */
export function isAbout(problemPath: string, field: string): boolean {
  return problemPath === field || stripTags(problemPath, field) === field
}

function stripTags(path: string, like: string): string {
  const wanted = like.split('.')
  const given = path.split('.')
  const kept: string[] = []
  let i = 0
  for (const part of given) {
    if (i < wanted.length && part === wanted[i]) {
      kept.push(part)
      i += 1
    }
  }
  return kept.length === wanted.length && given.at(-1) === wanted.at(-1) ? kept.join('.') : path
}

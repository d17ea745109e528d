// Opening, saving and leaving flows: the file is never overwritten unseen, and nothing unsaved is lost.
import { ApiError, api } from '../api/client'
import type { FlowDoc, Problem } from '../api/types'
import { go, renameAddress, to } from '../app/router'
import { dropDraft, keepDraft, readDraft, type Draft } from '../state/drafts'
import { UNTITLED, currentDoc, dirty, useFlow } from '../state/flow'
import { useUi } from '../state/ui'

export const place = (path: string | null, origin: string) => path ?? (origin || 'new')
export const here = () => place(useFlow.getState().path, useFlow.getState().origin)

export interface Opened {
  draft: Draft | null
  notes: string[]
}

const BLANK: FlowDoc = { format: 'farthing.flow/1', name: UNTITLED, nodes: [], edges: [] }

/** What was imported and waits for the page of a new flow. */
let imported: FlowDoc | null = null

export function takeImported(doc: FlowDoc): void {
  imported = doc
  if (location.pathname === '/new') openNew()
  else go('/new')
}

/** A new flow: what was imported, else an empty one. */
function openNew(): void {
  useFlow.getState().open(imported ?? BLANK, { path: null, hash: null, origin: '' }, imported === null)
  imported = null
}

export async function openFlow(path: string | undefined, example: string | undefined): Promise<Opened> {
  const { open } = useFlow.getState()
  let notes: string[] = []
  if (path !== undefined) {
    const opened = await api.flow(path)
    open(opened.flow, { path, hash: opened.hash, origin: '' }, true)
    notes = [...opened.changes, ...opened.warnings.map((warning: Problem) => warning.message)]
  } else if (example !== undefined) {
    const { flow } = await api.example(example)
    open(flow, { path: null, hash: null, origin: `example:${example}` }, true)
  } else {
    openNew()
    if (dirty(useFlow.getState())) return { draft: null, notes }
  }
  return { draft: readDraft(here()), notes }
}

export function restoreDraft(draft: Draft): void {
  const { path, origin, hash, open } = useFlow.getState()
  open(draft.flow, { path, hash: draft.hash ?? hash, origin }, false)
}

let timer: ReturnType<typeof setTimeout> | undefined

type Open = ReturnType<typeof useFlow.getState>

const keep = (s: Open) => keepDraft(place(s.path, s.origin), { flow: currentDoc(s), hash: s.hash, at: new Date().toISOString() })

/** Keeps a draft some moments after each change, and at once of what is left or replaced by another. Returns what ends it. */
export function keepDrafts(): () => void {
  return useFlow.subscribe((s, before) => {
    // Another flow, or the file's own state anew: what stood here must outlive it.
    if (before.loaded && (!s.loaded || s.opened !== before.opened)) {
      clearTimeout(timer)
      if (dirty(before)) keep(before)
      return
    }
    // A gesture changes once in the record and moves on until it ends.
    if (s.rev === before.rev && s.savedRev === before.savedRev && !(before.gesture && !s.gesture)) return
    clearTimeout(timer)
    const at = place(s.path, s.origin)
    if (!dirty(s)) {
      // Saved, or undone.
      if (dirty(before) && place(before.path, before.origin) === at) dropDraft(at)
      return
    }
    timer = setTimeout(() => {
      // While something is dragged nothing else is done; its end comes by here again.
      if (dirty(useFlow.getState()) && !useFlow.getState().gesture) keep(useFlow.getState())
    }, 600)
  })
}

export type SaveResult = { saved: true } | { saved: false; conflict?: string | null; needsPath?: boolean; error?: ApiError }

/** Save under the flow's path, or under a new one. */
export async function save(as?: string, overwrite?: string | null): Promise<SaveResult> {
  const { path, hash, saved, rev } = useFlow.getState()
  const target = as ?? path
  if (!target) return { saved: false, needsPath: true }
  const base = overwrite !== undefined ? overwrite : target === path ? hash : null
  const before = here()
  try {
    const answer = await api.saveFlow(target, currentDoc(), base)
    dropDraft(before)
    saved(answer.flow, answer.path, answer.hash)
    // What was changed while the save was under way is not saved yet.
    if (useFlow.getState().rev !== rev) useFlow.setState({ savedRev: rev })
    if (target !== path) renameAddress(to.flow(answer.path))
    useUi.getState().say(`Saved as ${answer.path}`)
    return { saved: true }
  } catch (error) {
    const failure = error as ApiError
    if (failure.status === 409) return { saved: false, conflict: (failure.body.current_hash as string | null | undefined) ?? null }
    return { saved: false, error: failure }
  }
}

/** A path for a flow that was never saved. */
export function suggestedPath(name: string): string {
  const stem = name.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '')
  return `${stem || 'flow'}.json`
}

/** Where a flow of this name is saved: under the path that it has, else beside it after its new name. */
export function pathFor(name: string, before: string, path: string | null): string {
  if (path !== null && name.trim() === before) return path
  return (path ?? '').replace(/[^/]*$/, '') + suggestedPath(name)
}

export function exportFlow(): void {
  const doc = currentDoc()
  download(`${JSON.stringify(doc, null, 2)}\n`, suggestedPath(doc.name), 'application/json')
}

export function download(text: string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** Ask for a file and read it as a flow. Nothing is imported unless all of it can be read. */
export function importFlow(take: (doc: FlowDoc) => void): void {
  const input = document.createElement('input')
  input.type = 'file'
  input.accept = '.json,application/json'
  input.onchange = async () => {
    const file = input.files?.[0]
    if (!file) return
    try {
      const doc = JSON.parse(await file.text()) as FlowDoc
      if (!Array.isArray(doc.nodes) || !Array.isArray(doc.edges)) throw new Error('it has no nodes and edges')
      take({ ...doc, name: typeof doc.name === 'string' && doc.name ? doc.name : file.name.replace(/\.json$/, '') })
    } catch (error) {
      useUi.getState().say(`${file.name} is not a flow: ${(error as Error).message}`, true)
    }
  }
  input.click()
}

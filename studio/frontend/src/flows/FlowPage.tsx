// A flow to work on: palette, canvas, inspector, and the drawer under the canvas.
import { ReactFlowProvider } from '@xyflow/react'
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, api } from '../api/client'
import { Failure } from '../app/Failure'
import { Icon } from '../app/icons'
import { go, guardLeaving } from '../app/router'
import { useShortcuts } from '../app/shortcuts'
import { Splitter } from '../app/Splitter'
import { TopBar } from '../app/TopBar'
import { Canvas, tidy } from '../canvas/Canvas'
import { Drawer } from '../drawer/Drawer'
import { Inspector } from '../inspector/Inspector'
import { ago } from '../lib/time'
import { Palette } from '../palette/Palette'
import { checkNow } from '../state/checking'
import { dropDraft, type Draft } from '../state/drafts'
import { dirty, useFlow } from '../state/flow'
import { useLaunch } from '../state/launch'
import { rememberSessions, resume } from '../state/resume'
import { useRun } from '../state/run'
import { useUi } from '../state/ui'
import { useValidation } from '../state/validation'
import { ConflictDialog, DeleteDialog, QuestionDialog, SaveAsDialog } from './dialogs'
import { here, keepDrafts, openFlow, restoreDraft, save } from './files'

export function FlowPage(props: { path: string | undefined; example: string | undefined }) {
  return <ReactFlowProvider><Workspace {...props} /></ReactFlowProvider>
}

const VALIDATE_AFTER_MS = 250
const LOOK_OUTSIDE_MS = 5000

function Workspace({ path, example }: { path: string | undefined; example: string | undefined }) {
  const [error, setError] = useState<unknown>(null)
  const [draft, setDraft] = useState<Draft | null>(null)
  const [notes, setNotes] = useState<string[]>([])
  const [dialog, setDialog] = useState<'save-as' | 'delete' | null>(null)
  const [conflict, setConflict] = useState<{ hash: string | null; path?: string } | null>(null)
  const loaded = useFlow((s) => s.loaded)
  const { palette, inspector, inspectorWidth, drawer, drawerHeight, set } = useUi()

  const load = useCallback(() => {
    setError(null)
    setDraft(null)
    useRun.getState().leave()
    useLaunch.getState().reset()
    openFlow(path, example).then((opened) => {
      setDraft(opened.draft)
      setNotes(opened.notes)
      const { meta } = useFlow.getState()
      if (path !== undefined || example !== undefined) void resume(here(), meta.id ?? meta.name)
    }, setError)
  }, [path, example])
  useEffect(() => {
    const now = useFlow.getState()
    // After a first save the address changes and the flow stays as it is.
    if (now.loaded && path !== undefined && now.path === path) return
    load()
  }, [load, path])
  useEffect(() => () => { useFlow.getState().close(); useValidation.getState().reset(); useRun.getState().leave() }, [])
  useEffect(() => keepDrafts(), [])
  useEffect(() => rememberSessions(here), [])
  useValidating()
  useLeaveWarning()
  const outside = useOutside()

  const onSave = useCallback((as?: string, overwrite?: string | null) => {
    void save(as, overwrite).then((result) => {
      setDialog(null)
      if (result.saved) return setConflict(null)
      if (result.needsPath) setDialog('save-as')
      else if (result.conflict !== undefined) setConflict({ hash: result.conflict, path: as })
      else if (result.error) useUi.getState().say(`${result.error.message} ${result.error.hint ?? ''}`, true)
    })
  }, [])
  const fit = useCallback(() => set({ fitted: useUi.getState().fitted + 1 }), [set])
  const plainSave = useCallback(() => onSave(), [onSave])
  useShortcuts({ save: plainSave, fit })

  if (error) return <main className="page"><Failure error={error} retry={load} /></main>
  if (!loaded) return <main className="page" aria-busy="true"><p className="muted">Opening the flow…</p></main>
  return (
    <main className="workspace">
      <TopBar onSave={plainSave} onSaveAs={() => setDialog('save-as')} onDelete={() => setDialog('delete')} onTidy={() => void tidy()} />
      <Banners draft={draft} onDraft={(keep) => { if (keep && draft) restoreDraft(draft); else dropDraft(here()); setDraft(null) }}
        notes={notes} onNotes={() => setNotes([])} outside={outside} onReload={load} />
      <div className="work">
        {palette ? <Palette /> : <button type="button" className="shown-again left" onClick={() => set({ palette: true })} aria-label="Show the palette" title="Show the palette"><Icon name="palette" /></button>}
        <div className="middle">
          <Canvas />
          {drawer && <Splitter axis="y" value={drawerHeight} min={120} max={640} onChange={(v) => set({ drawerHeight: v })} label="Height of the drawer" />}
          <Drawer />
        </div>
        {inspector && <Splitter axis="x" value={inspectorWidth} min={260} max={560} onChange={(v) => set({ inspectorWidth: v })} label="Width of the inspector" />}
        {inspector ? <div className="inspector-box" style={{ width: inspectorWidth }}><Inspector /></div>
          : <button type="button" className="shown-again right" onClick={() => set({ inspector: true })} aria-label="Show the inspector" title="Show the inspector"><Icon name="panel" /></button>}
      </div>
      {dialog === 'save-as' && <SaveAsDialog onClose={() => setDialog(null)} onSave={(to) => onSave(to)} />}
      {dialog === 'delete' && <DeleteDialog onClose={() => setDialog(null)} onDeleted={() => { useFlow.setState({ savedRev: useFlow.getState().rev }); go('/') }} />}
      {conflict && <ConflictDialog onClose={() => setConflict(null)} onReload={() => { setConflict(null); load() }}
        onOverwrite={() => onSave(conflict.path, conflict.hash)} onCopy={() => { setConflict(null); setDialog('save-as') }} exists={conflict.path !== undefined} />}
      <QuestionDialog />
    </main>
  )
}

function useValidating(): void {
  const rev = useFlow((s) => s.rev)
  const loaded = useFlow((s) => s.loaded)
  const first = useRef(true)
  useEffect(() => {
    if (!loaded) return
    const timer = setTimeout(() => void checkNow(), first.current ? 0 : VALIDATE_AFTER_MS)
    first.current = false
    return () => clearTimeout(timer)
  }, [rev, loaded])
}

function useLeaveWarning(): void {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => { if (dirty(useFlow.getState())) event.preventDefault() }
    addEventListener('beforeunload', ask)
    guardLeaving(() => !dirty(useFlow.getState()) || confirm('This flow has unsaved changes. Leave it? They are kept as a draft in this browser.'))
    return () => { removeEventListener('beforeunload', ask); guardLeaving(null) }
  }, [])
}

/** Whether the file was changed by somebody else since it was read. */
function useOutside(): boolean {
  const path = useFlow((s) => s.path)
  const hash = useFlow((s) => s.hash)
  const [changed, setChanged] = useState(false)
  useEffect(() => {
    setChanged(false)
    if (!path || !hash) return
    const timer = setInterval(() => {
      if (document.hidden) return
      api.flowHash(path).then((now) => setChanged(now.hash !== useFlow.getState().hash), (error: ApiError) => { if (error.status === 404) setChanged(true) })
    }, LOOK_OUTSIDE_MS)
    return () => clearInterval(timer)
  }, [path, hash])
  return changed
}

interface BannersProps {
  draft: Draft | null
  onDraft(keep: boolean): void
  notes: string[]
  onNotes(): void
  outside: boolean
  onReload(): void
}

function Banners({ draft, onDraft, notes, onNotes, outside, onReload }: BannersProps) {
  return (
    <>
      {draft && (
        <div className="banner" role="status"><Icon name="clock" /><span>Unsaved changes from {ago(draft.at)} are kept in this browser.</span>
          <button type="button" onClick={() => onDraft(true)}>Restore them</button><button type="button" className="plain-button" onClick={() => onDraft(false)}>Discard them</button></div>
      )}
      {outside && (
        <div className="banner warn" role="status"><Icon name="warning" /><span>The file was changed elsewhere, by a program or in another tab.</span><button type="button" onClick={onReload}>Load it again</button></div>
      )}
      {notes.length > 0 && (
        <div className="banner" role="status"><Icon name="help" /><span>{notes.join(' · ')}</span><button type="button" className="plain-button" onClick={onNotes}>Close</button></div>
      )}
    </>
  )
}

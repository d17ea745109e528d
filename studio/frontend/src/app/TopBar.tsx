// The bar over an open flow: name and saved state, undo, model and tightest budget, Run.
import { command } from '../flows/command'
import { exportFlow, importFlow, takeImported } from '../flows/files'
import { useCatalog } from '../state/catalog'
import { dirty, useFlow } from '../state/flow'
import { inputNow, launch, useLaunch } from '../state/launch'
import { useRun } from '../state/run'
import { useUi } from '../state/ui'
import { isError, useValidation } from '../state/validation'
import { GaugeBar, gaugeText, tightest } from './GaugeBar'
import { resets } from '../lib/time'
import { Icon } from './icons'
import { Menu } from './Menu'

interface Props {
  onSave(): void
  onSaveAs(): void
  onDelete(): void
  onTidy(): void
}

export function TopBar({ onSave, onSaveAs, onDelete, onTidy }: Props) {
  const name = useFlow((s) => s.meta.name)
  const path = useFlow((s) => s.path)
  const origin = useFlow((s) => s.origin)
  const unsaved = useFlow(dirty)
  const past = useFlow((s) => s.history.past.length > 0)
  const future = useFlow((s) => s.history.future.length > 0)
  const act = useFlow.getState()
  const where = path ?? (origin ? 'example, not saved' : 'not saved')
  return (
    <header className="topbar">
      <div className="title">
        <h1 dir="auto" title={name}>{name}</h1>
        <span className={unsaved ? 'saved-state unsaved' : 'saved-state'}>{unsaved && <span className="dot" aria-hidden />}{unsaved ? (path ? 'unsaved changes' : where) : where}</span>
      </div>
      <div className="tools" role="toolbar" aria-label="Flow">
        <button type="button" className="icon-button" disabled={!past} onClick={() => act.undo()} title="Undo (Ctrl+Z)" aria-label="Undo"><Icon name="undo" /></button>
        <button type="button" className="icon-button" disabled={!future} onClick={() => act.redo()} title="Redo (Ctrl+Y)" aria-label="Redo"><Icon name="redo" /></button>
        <button type="button" className="icon-button" onClick={onTidy} title="Tidy (L)" aria-label="Tidy"><Icon name="tidy" /></button>
        <button type="button" className="icon-button" onClick={onSave} title="Save (Ctrl+S)" aria-label="Save"><Icon name="save" /></button>
        <Menu label="More" entries={[
          { label: 'Copy as command', act: copyCommand },
          { label: 'Save as…', act: onSaveAs },
          { label: 'Import…', act: () => importFlow(takeImported) },
          { label: 'Export', act: exportFlow },
          { label: 'Delete the file…', disabled: !path, act: onDelete },
        ]}><Icon name="more" /></Menu>
      </div>
      <span className="grow" />
      <ModelAndLimit />
      <RunButton />
    </header>
  )
}

export function copyCommand(): void {
  const { path, origin } = useFlow.getState()
  const { session, user } = useLaunch.getState()
  const say = useUi.getState().say
  const file = path ?? origin
  if (!file) return say('Save the flow first: a command needs a file.', true)
  const line = command({ flow: file, input: inputNow(), session, user, model: '', limits: [], me: useCatalog.getState().me?.user ?? '' })
  void navigator.clipboard.writeText(line).then(
    () => say(dirty(useFlow.getState()) ? `Copied, but unsaved changes are not in the file: ${line}` : `Copied: ${line}`),
    () => say(`The clipboard is closed. The line is: ${line}`, true),
  )
}

function ModelAndLimit() {
  const me = useCatalog((s) => s.me)
  const agents = useValidation((s) => s.agents)
  const gauges = useRun((s) => s.gauges)
  const live = tightest(Object.values(gauges))
  const own = me?.limits.find((limit) => limit.gauge)?.gauge ?? null
  const gauge = live ?? own
  const models = [...new Set(agents.map((agent) => agent.model ?? agent.provider))]
  const rehearsal = agents.length ? agents.every((agent) => agent.rehearsal) : !!me?.model.rehearsal
  return (
    <div className="model-and-limit">
      <span className="model" title={me?.model.why}>
        <span className="model-name">{models[0] ?? me?.model.name}{models.length > 1 ? ` +${models.length - 1}` : ''}</span>
        {rehearsal && <span className="tag rehearsal" title="Scripted, not a model. It costs nothing and is counted apart.">rehearsal</span>}
      </span>
      {gauge ? <span className="limit" title={`${gauge.budget}: ${gaugeText(gauge)}`}><GaugeBar gauge={gauge} /><span className="limit-text">{gaugeText(gauge, false)}{gauge.resets_at && <span className="when">, {resets(gauge.resets_at)}</span>}</span></span>
        : me?.limits[0] ? <span className="limit" title={me.limits[0].text}><span className="limit-text">{me.limits[0].text}</span></span> : null}
    </div>
  )
}

function RunButton() {
  const status = useRun((s) => s.status)
  const starting = useLaunch((s) => s.asking) || status === 'starting'
  const errors = useValidation((s) => s.problems.filter(isError).length)
  if (status === 'running' || status === 'cancelling') {
    return (
      <button type="button" className="run cancel" disabled={status === 'cancelling'} onClick={() => void useRun.getState().cancel()} title="Cancel (Esc)">
        <Icon name="stop" />{status === 'cancelling' ? 'Cancelling…' : 'Cancel'}
      </button>
    )
  }
  return (
    <button type="button" className="run primary" disabled={starting} onClick={() => void launch()} title={errors ? `${errors} problems must be mended first` : 'Run (Ctrl+Enter)'}>
      <Icon name="play" />{starting ? 'Starting…' : 'Run'}
    </button>
  )
}

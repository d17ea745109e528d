// Every key that the studio knows.
import { useUi } from '../state/ui'
import { Dialog } from './Dialog'

const GROUPS: [string, [string, string][]][] = [
  ['Build', [
    ['/', 'Add a node'], ['Enter', 'Edit the selected node'], ['Arrows', 'Move what is selected'], ['Tab', 'Go to the next node or edge'], ['Space', 'Select the one in focus'], ['Shift+click', 'Select one more'],
    ['Delete', 'Delete what is selected'], ['L', 'Tidy'], ['N', 'Add a note'], ['G', 'Group what is selected'], ['Ctrl+F', 'Find a node'], ['F', 'Show the whole flow'],
  ]],
  ['Change', [
    ['Ctrl+Z', 'Undo'], ['Ctrl+Y', 'Redo'], ['Ctrl+C', 'Copy as JSON'], ['Ctrl+X', 'Cut'], ['Ctrl+V', 'Paste'], ['Ctrl+D', 'Duplicate'], ['Ctrl+A', 'Select all'], ['Ctrl+S', 'Save'],
  ]],
  ['Run', [['Ctrl+Enter', 'Run'], ['Esc', 'Close, or cancel the run'], ['1 2 3 4', 'Chat, Timeline, Problems, Events'], ['?', 'Show these keys']]],
]

export function Help() {
  const open = useUi((s) => s.help)
  const set = useUi((s) => s.set)
  if (!open) return null
  return (
    <Dialog title="Keyboard" onClose={() => set({ help: false })} wide>
      <div className="keys">
        {GROUPS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
          </section>
        ))}
      </div>
      <p className="help">On a Mac, ⌘ stands for Ctrl. Edges can be made without a mouse: select a node and use Connections in the inspector. With one, let go of an edge on a port or anywhere on a node.</p>
    </Dialog>
  )
}

// The words of rows for events that have no line of their own elsewhere.
import type { Event } from '../api/types'
import { count } from '../lib/money'
import { plural, shortJson } from '../lib/text'

export interface Words {
  what: string
  text: string
}

export function memoryWords(event: Event): Words {
  const keys = ((event.keys as string[] | undefined) ?? []).join(', ')
  const what = event.type.replace('.', ' ')
  switch (event.type) {
    case 'memory.read':
      return { what, text: `${String(event.found ?? 0)} found${keys ? `: ${keys}` : ''}` }
    case 'memory.write': {
      const note = event.outcome === 'created' ? '' : ` (${String(event.outcome)})`
      return { what, text: `${keys} = ${shortJson(event.value) || 'empty'}${note}` }
    }
    case 'memory.refused':
      return { what, text: `${keys}: ${String(event.message)}` }
    case 'memory.moved':
      return { what, text: `${keys} to ${String(event.to_scope)} ${String(event.to_owner)}` }
    case 'memory.compacted':
      return { what, text: `${plural(Number(event.turns), 'turn')}, ${count(Number(event.tokens_before))} → ${count(Number(event.tokens_after))} tokens` }
    case 'memory.consolidated':
      return { what, text: consolidated(event) }
    default:
      return { what, text: keys }
  }
}

/** How many facts a batch changed, by what was done. */
function consolidated(event: Event): string {
  const always = ['merged', 'expired', 'promoted']
  const names = [...always, ...['faded', 'emptied'].filter((name) => event[name])]
  return names.map((name) => `${String(event[name] ?? 0)} ${name}`).join(', ')
}

/** Null for an event that has no words. */
export function noteWords(event: Event): Words | null {
  switch (event.type) {
    case 'run.paused':
    case 'run.resumed':
      return { what: event.type.replace('.', ' '), text: String(event.reason ?? '') }
    case 'agent.clarify':
      return { what: 'asks', text: String(event.text ?? '') }
    case 'plan.updated':
      return { what: 'plan', text: `${String(event.done ?? 0)} of ${((event.items as unknown[]) ?? []).length} done` }
    case 'human.asked':
      return { what: 'asks a person', text: String(event.question ?? '') }
    case 'human.answered':
      return { what: 'answered', text: shortJson(event.answer) }
    case 'budget.changed':
      return { what: 'budget changed', text: `${String(event.action)} of ${String(event.budget)} by ${String(event.actor)}: ${String(event.reason)}` }
    case 'custom':
      return { what: String(event.name), text: shortJson(event.data) }
    default:
      return null
  }
}

// The words of rows for events that have no line of their own elsewhere.
import type { Event } from '../api/types'
import { count, dollars } from '../lib/money'
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
    case 'memory.judged':
      return { what, text: judged(event) }
    case 'memory.proposed':
      return { what, text: proposed(event) }
    case 'memory.consolidated':
      return { what, text: consolidated(event) }
    default:
      return { what, text: keys }
  }
}

interface Verdict {
  key: string
  other: string
  relation: string
  why?: string
}

interface Retired {
  key: string
  action: string
  by?: string | null
}

const RELATIONS: Record<string, string> = { same: 'say the same', merge: 'belong in one', conflict: 'contradict each other' }
/** Changes of a plan that a row names before it counts the rest. */
const CHANGES_SAID = 5

/** Who judged, for how much, and what is not simply different. */
function judged(event: Event): string {
  const verdicts = (event.verdicts as Verdict[] | undefined) ?? []
  const different = verdicts.filter((each) => each.relation === 'different').length
  const said = verdicts.filter((each) => each.relation !== 'different').map((each) => `${each.key} and ${each.other} ${RELATIONS[each.relation] ?? each.relation}${each.why ? ` (${each.why})` : ''}`)
  const all = [...said, ...(different ? [`${different} different`] : [])].join('; ')
  return event.model ? `${String(event.model)}, ${plural(Number(event.tokens ?? 0), 'token')}, ${dollars(event.cost as number | null)}: ${all}` : all
}

function proposed(event: Event): string {
  const changes = (event.changes as Retired[] | undefined) ?? []
  if (!changes.length) return 'nothing to change'
  const more = changes.length - CHANGES_SAID
  const said = [...changes.slice(0, CHANGES_SAID).map(change), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
  return `${said}${event.actor ? ` for ${String(event.actor)}` : ''}`
}

function change({ key, action, by }: Retired): string {
  switch (action) {
    case 'expire': return `retire ${key}, whose time is over`
    case 'merge': return `retire ${key}, ${by} says the same`
    case 'rewrite': return `put ${key} and ${by} into ${by}`
    case 'conflict': return `mark that ${key} and ${by} contradict each other`
    case 'keep': return `${by} is right, ${key} was retired`
    case 'both': return `${by} and ${key} are both right`
    default: return `${action} ${key}`
  }
}

/** How many facts a batch changed, by what was done; a person's word on a contradiction as such. */
function consolidated(event: Event): string {
  const by = event.actor ? ` by ${String(event.actor)}` : ''
  if (event.undoes) return `taken back: ${((event.keys as string[] | undefined) ?? []).join(', ') || 'nothing'}${by}`
  const settled = ((event.changes as Retired[] | undefined) ?? []).filter((each) => each.action === 'keep' || each.action === 'both')
  if (settled.length) return `${settled.map(change).join('; ')}${by}`
  const always = ['merged', 'expired', 'promoted']
  const names = [...always, ...['faded', 'emptied', 'conflicts', 'skipped'].filter((name) => event[name])]
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

// The `farthing run` line that does what the Run button does.
import { shellQuote } from '../lib/text'

export interface CommandParts {
  flow: string
  input: unknown
  session: string
  user: string
  model: string
  limits: readonly string[]
  me: string
}

export function command(parts: CommandParts): string {
  const words = ['farthing', 'run', shellQuote(parts.flow)]
  if (typeof parts.input === 'string') {
    if (parts.input) words.push(shellQuote(parts.input))
  } else if (parts.input && typeof parts.input === 'object') {
    for (const [name, value] of Object.entries(parts.input as Record<string, unknown>)) {
      words.push('--set', shellQuote(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`))
    }
  }
  if (parts.session) words.push('--session', shellQuote(parts.session))
  if (parts.user && parts.user !== parts.me) words.push('--user', shellQuote(parts.user))
  if (parts.model) words.push('--model', shellQuote(parts.model))
  for (const limit of parts.limits) words.push('--limit', shellQuote(limit))
  return words.join(' ')
}

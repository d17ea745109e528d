// What to do in the studio, where the remedy that comes with an error names a command of the terminal.
const HERE: Record<string, string> = {
  'flow.no_nodes': 'Press `/`, or drag a node from the palette on the left.',
  'flow.empty': 'Make a new flow, and save it under this name.',
}

/** The remedy for what has this code. */
export const remedyHere = (code: string, remedy: string | null | undefined): string | null => HERE[code] ?? remedy ?? null

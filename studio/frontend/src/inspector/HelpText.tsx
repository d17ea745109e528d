// Help as docstrings write it: what stands between backticks is code.

export function HelpText({ text }: { text: string }) {
  return text.split('`').map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))
}

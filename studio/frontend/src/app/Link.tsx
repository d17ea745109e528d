// Links: inside the studio without loading, and addresses found in texts, which open apart and know nothing of us.
import type { AnchorHTMLAttributes } from 'react'
import { linked } from '../lib/text'
import { go } from './router'

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  return (
    <a href={href} {...rest} onClick={(event) => {
      onClick?.(event)
      if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
      event.preventDefault()
      go(href)
    }} />
  )
}

/** Text of a model or a person: always text, with web addresses as links. */
export function PlainText({ text }: { text: string }) {
  return (
    <span className="plain" dir="auto">
      {linked(text).map((piece, i) => (piece.href ? <a key={i} href={piece.href} target="_blank" rel="noopener noreferrer nofollow">{piece.text}</a> : piece.text))}
    </span>
  )
}

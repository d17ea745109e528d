// Line icons, drawn on a grid of 24. A name that is not here is a plain ring.

const PATHS: Record<string, string> = {
  flows: 'M4 6h6v5H4zM14 13h6v5h-6zM10 8.5h2.5a2 2 0 0 1 2 2V13',
  sessions: 'M4 6h16M4 12h10M4 18h13',
  memory: 'M6 4h12v16l-6-4-6 4z',
  budgets: 'M4 17a8 8 0 1 1 16 0M12 17l4-6M3 20h18',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  sparkles: 'M11 4l1.8 5.2L18 11l-5.2 1.8L11 18l-1.8-5.2L4 11l5.2-1.8zM18.5 4v4M20.5 6h-4',
  gauge: 'M4 17a8 8 0 1 1 16 0M12 17l4-6',
  bookmark: 'M6 4h12v16l-6-4-6 4z',
  'log-in': 'M13 4h6v16h-6M4 12h10M10 8l4 4-4 4',
  'log-out': 'M11 4H5v16h6M9 12h11M16 8l4 4-4 4',
  wrench: 'M14.5 6.5a4 4 0 0 1 5 5l-8.5 8.5a2.5 2.5 0 0 1-3.5-3.5L16 8M14.5 6.5L18 10',
  tool: 'M14.5 6.5a4 4 0 0 1 5 5l-8.5 8.5a2.5 2.5 0 0 1-3.5-3.5L16 8M14.5 6.5L18 10',
  split: 'M4 12h6M10 12c4 0 3-6 10-6M10 12c4 0 3 6 10 6M17 3l3 3-3 3M17 15l3 3-3 3',
  'git-branch': 'M4 12h6M10 12c4 0 3-6 10-6M10 12c4 0 3 6 10 6M17 3l3 3-3 3M17 15l3 3-3 3',
  repeat: 'M5 11V9a3 3 0 0 1 3-3h11M16 3l3 3-3 3M19 13v2a3 3 0 0 1-3 3H5M8 21l-3-3 3-3',
  text: 'M5 6V4h14v2M12 4v16M9 20h6',
  type: 'M5 6V4h14v2M12 4v16M9 20h6',
  user: 'M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c1-5 4-7 8-7s7 2 8 7',
  note: 'M5 4h14v10l-6 6H5zM13 20v-6h6',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  undo: 'M8 5L4 9l4 4M4 9h9a6 6 0 0 1 0 12h-3',
  redo: 'M16 5l4 4-4 4M20 9h-9a6 6 0 0 0 0 12h3',
  tidy: 'M4 5h6v4H4zM14 10h6v4h-6zM4 15h6v4H4zM10 7h2v10h-2M12 12h2',
  play: 'M7 4.5v15l12-7.5z',
  stop: 'M6 6h12v12H6z',
  save: 'M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  terminal: 'M4 5h16v14H4zM7 9l3 3-3 3M12 15h5',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  right: 'M9 6l6 6-6 6',
  left: 'M15 6l-6 6 6 6',
  hide: 'M3 12c3-5 6-7 9-7s6 2 9 7c-3 5-6 7-9 7s-6-2-9-7M9 12a3 3 0 1 0 6 0a3 3 0 1 0-6 0M4 4l16 16',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  check: 'M5 13l4 4L19 7',
  warning: 'M12 4l9 16H3zM12 10v4.5M12 17.2v.3',
  error: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7.5v6M12 16.3v.3',
  blocked: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM6 6l12 12',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2',
  more: 'M5.5 11.5v1M12 11.5v1M18.5 11.5v1',
  help: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M12 16.6v.3',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z',
  auto: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 3v18',
  panel: 'M4 5h16v14H4zM15 5v14',
  palette: 'M4 5h16v14H4zM9 5v14',
  bottom: 'M4 5h16v14H4zM4 14h16',
  fit: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  download: 'M12 4v11M7 10l5 5 5-5M5 20h14',
  upload: 'M12 15V4M7 9l5-5 5 5M5 20h14',
  edit: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  link: 'M10 14l4-4M8 11l-2 2a3.5 3.5 0 0 0 5 5l2-2M16 13l2-2a3.5 3.5 0 0 0-5-5l-2 2',
}

export function Icon({ name, label }: { name: string; label?: string }) {
  const drawn = PATHS[name] ?? 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z'
  return (
    <svg className="icon" viewBox="0 0 24 24" role={label ? 'img' : undefined} aria-label={label} aria-hidden={label ? undefined : true}>
      <path d={drawn} />
    </svg>
  )
}

/** The shape of a port kind: circle, square, diamond, triangle. Read without colour. */
const SHAPES: Record<string, string> = {
  message: 'M6 1.2a4.8 4.8 0 1 1 0 9.6 4.8 4.8 0 0 1 0-9.6z',
  memory: 'M1.6 1.6h8.8v8.8H1.6z',
  budget: 'M6 .6L11.4 6 6 11.4.6 6z',
  tool: 'M6 1l5.4 9.8H.6z',
}

export function PortShape({ kind }: { kind: string }) {
  return <svg className="port-shape" data-kind={kind} viewBox="0 0 12 12" aria-hidden><path d={SHAPES[kind] ?? SHAPES.message} /></svg>
}

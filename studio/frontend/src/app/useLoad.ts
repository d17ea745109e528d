// Load something when a page opens or its question changes; an answer that comes too late is dropped.
import { useCallback, useEffect, useRef, useState } from 'react'

export interface Loaded<T> {
  data: T | null
  error: unknown
  loading: boolean
  reload(): void
}

export function useLoad<T>(load: () => Promise<T>, question: string): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown; loading: boolean }>({ data: null, error: null, loading: true })
  const [again, setAgain] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    let current = true
    setState((s) => ({ ...s, loading: true }))
    latest.current().then(
      (data) => { if (current) setState({ data, error: null, loading: false }) },
      (error: unknown) => { if (current) setState((s) => ({ ...s, error, loading: false })) },
    )
    return () => { current = false }
  }, [question, again])
  return { ...state, reload: useCallback(() => setAgain((n) => n + 1), []) }
}

/** A value once it has stood still for a moment. Only what is compared by what it is: an object that is made anew at each
 * drawing would never stand still. */
export function useLater<T extends string | number | boolean>(value: T, ms: number): T {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return late
}

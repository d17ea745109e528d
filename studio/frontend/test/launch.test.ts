import { beforeEach, describe, expect, test, vi } from 'vitest'
import { api } from '../src/api/client'
import type { Validation } from '../src/api/types'
import { useFlow } from '../src/state/flow'
import { launch, useLaunch } from '../src/state/launch'
import { useRun } from '../src/state/run'
import { useUi } from '../src/state/ui'
import { useValidation } from '../src/state/validation'

const FINE: Validation = { problems: [], cards: {}, needs: [], needs_hash: null, granted: true, input: null, agents: [] }
const BAD: Validation = { ...FINE, problems: [{ code: 'flow.bad', message: 'No output.', remedy: 'Add one.', node_id: null, path: '$', level: 'error' }] }
const FLOW = { format: 'farthing.flow/1', name: 'small', nodes: [], edges: [] }

/** The validator gives these answers, one a question; each waits until it is let go. */
function validator(...answers: Validation[]) {
  const gates: (() => void)[] = []
  const asked = vi.spyOn(api, 'validate').mockImplementation(() => {
    const answer = answers.shift()!
    return new Promise((resolve) => gates.push(() => resolve(answer)))
  })
  return { asked, answer: (i: number) => gates[i]!() }
}

const started = vi.fn(() => Promise.resolve())

beforeEach(() => {
  vi.restoreAllMocks()
  started.mockClear()
  useRun.setState({ status: 'idle', start: started })
  useLaunch.getState().reset()
  useValidation.getState().reset()
  useUi.setState({ tab: 'chat', toast: null })
  useFlow.getState().open(FLOW, { path: 'small.json', hash: 'h', origin: '' }, true)
})

describe('Run', () => {
  test('pressed before the validator answered, waits for the answer and runs', async () => {
    const { answer, asked } = validator(FINE)
    const pressed = launch()
    expect(useLaunch.getState().asking).toBe(true)
    expect(started).not.toHaveBeenCalled()
    answer(0)
    await pressed
    expect(asked).toHaveBeenCalledTimes(1)
    expect(started).toHaveBeenCalledTimes(1)
    expect(useLaunch.getState().asking).toBe(false)
  })

  test('is not refused by problems that were mended since', async () => {
    const first = validator(BAD, FINE)
    const checked = useValidation.getState().check(FLOW, 'small.json', useFlow.getState().rev)
    first.answer(0)
    await checked
    const pressed = launch()
    first.answer(1)
    await pressed
    expect(started).toHaveBeenCalledTimes(1)
    expect(useUi.getState().tab).toBe('chat')
  })

  test('opens the problems where there are some now', async () => {
    const { answer } = validator(BAD)
    const pressed = launch()
    answer(0)
    await pressed
    expect(started).not.toHaveBeenCalled()
    expect(useUi.getState()).toMatchObject({ drawer: true, tab: 'problems' })
  })

  test('asks nothing anew about a flow that was found right as it is', async () => {
    const { answer, asked } = validator(FINE)
    const checked = useValidation.getState().check(FLOW, 'small.json', useFlow.getState().rev)
    answer(0)
    await checked
    await launch()
    expect(asked).toHaveBeenCalledTimes(1)
    expect(started).toHaveBeenCalledTimes(1)
  })

  test('waits for the newest answer, and starts once however often it is pressed', async () => {
    const { answer } = validator(BAD, FINE)
    const pressed = launch()
    const again = launch()
    const later = useValidation.getState().check(FLOW, 'small.json', useFlow.getState().rev)
    answer(0)
    await Promise.resolve()
    expect(started).not.toHaveBeenCalled()
    answer(1)
    await Promise.all([pressed, again, later])
    expect(started).toHaveBeenCalledTimes(1)
  })

  test('says that the flow could not be checked, and starts nothing', async () => {
    vi.spyOn(api, 'validate').mockRejectedValue(new Error('The studio does not answer.'))
    await launch()
    expect(started).not.toHaveBeenCalled()
    expect(useUi.getState().toast).toMatchObject({ bad: true, text: expect.stringContaining('does not answer') })
  })

  test('starts nothing when another flow was opened meanwhile', async () => {
    const { answer } = validator(FINE)
    const pressed = launch()
    useFlow.getState().open(FLOW, { path: 'other.json', hash: 'h', origin: '' }, true)
    answer(0)
    await pressed
    expect(started).not.toHaveBeenCalled()
  })

  test('asks for a required field of the form before it is sent, and not where it has a default', async () => {
    const schema = { type: 'object', required: ['question', 'tone'], properties: { question: { type: 'string' }, tone: { type: 'string', default: 'kind' } } }
    vi.spyOn(api, 'validate').mockResolvedValue({ ...FINE, input: { schema, title: '' } } as Validation)
    vi.useFakeTimers()
    await launch()
    expect(started).not.toHaveBeenCalled()
    expect(useUi.getState().toast?.text).toBe('Fill in question first.')
    useLaunch.getState().set({ fields: { question: 'Why?' } })
    await launch()
    vi.useRealTimers()
    expect(started).toHaveBeenCalledTimes(1)
  })

  test('asks for a text where the flow takes one and nothing but blanks was typed', async () => {
    vi.spyOn(api, 'validate').mockResolvedValue({ ...FINE, input: { schema: null, title: '' } } as Validation)
    vi.useFakeTimers()
    useLaunch.getState().set({ text: ' \n' })
    await launch()
    expect(started).not.toHaveBeenCalled()
    expect(useUi.getState().toast?.text).toBe('Type something for the flow first.')
    useLaunch.getState().set({ text: 'Hello' })
    await launch()
    vi.useRealTimers()
    expect(started).toHaveBeenCalledTimes(1)
  })
})

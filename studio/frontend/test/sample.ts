// Node types and a flow of made-up kinds, so that no test leans on the real ones.
import type { FlowDoc, NodeType, Port } from '../src/api/types'

const port = (name: string, kind: Port['kind'] = 'message', more: Partial<Port> = {}): Port => ({ name, kind, title: '', many: true, required: false, ...more })

const type = (name: string, fields: Partial<NodeType>): NodeType => ({
  name, title: name, category: 'Flow', help: `Does ${name}.`, icon: '', version: 1, inputs: [], outputs: [], schema: { type: 'object', properties: {} }, templates: [], keywords: [],
  attachment: false, entry: false, result: false, ...fields,
})

export const TYPES: NodeType[] = [
  type('source', { outputs: [port('out')], entry: true }),
  type('thinker', {
    inputs: [port('in'), port('shelf', 'memory', { many: false }), port('purse', 'budget')], outputs: [port('out'), port('error')], templates: ['prompt'], keywords: ['model'],
  }),
  type('shelf', { outputs: [port('shelf', 'memory')], attachment: true }),
  type('purse', { outputs: [port('purse', 'budget')], attachment: true, help: 'Limits money.' }),
  type('sink', { inputs: [port('in', 'message', { required: true })], result: true }),
]

export const CATALOG = Object.fromEntries(TYPES.map((each) => [each.name, each]))

export const FLOW: FlowDoc = {
  format: 'farthing.flow/1', id: 'f1', name: 'sample', description: 'A sample.',
  nodes: [
    { id: 'question', type: 'source', config: {}, ui: { x: 0, y: 0 } },
    { id: 'helper', type: 'thinker', version: 2, config: { prompt: 'Say {{ inputs.question }} twice: {{inputs.question}}, {{ inputs.question_2 }}' }, ui: { x: 300, y: 0, colour: 'red' } },
    { id: 'notes', type: 'shelf', config: { deep: { kept: [1, { a: null }] } }, ui: { x: 200, y: 200 } },
    { id: 'answer', type: 'sink', config: {}, ui: { x: 600, y: 0 } },
  ],
  edges: [
    { source: 'question', target: 'helper' },
    { source: 'notes', target: 'helper', target_port: 'shelf' },
    { source: 'helper', target: 'answer' },
  ],
  ui: { notes: [{ id: 'n1', text: 'Look here', x: 0, y: -200, width: 180, height: 80, tint: 'blue' }], viewport: { zoom: 1 } },
}

import { describe, expect, test } from 'vitest'
import { freshId, readFlow, writeFlow } from '../src/state/document'
import { copyText, pasted, readPart } from '../src/state/clipboard'
import { fits, fitting, lookup, misfit, portsOf } from '../src/state/ports'
import { CATALOG, FLOW, TYPES } from './sample'

describe('a document', () => {
  test('comes back from the canvas as it was, with what the canvas does not know', () => {
    const { nodes, edges, meta } = readFlow(FLOW, CATALOG)
    expect(writeFlow({ nodes, edges }, meta, CATALOG)).toEqual(FLOW)
  })

  test('says when its nodes have no places', () => {
    expect(readFlow(FLOW, CATALOG).placed).toBe(true)
    expect(readFlow({ ...FLOW, nodes: FLOW.nodes.map(({ ui: _ui, ...node }) => node) }, CATALOG).placed).toBe(false)
  })

  test('keeps nodes of types that are not installed, and their edges', () => {
    const { nodes, edges, meta } = readFlow(FLOW, {})
    expect(writeFlow({ nodes, edges }, meta, {}).nodes).toEqual(FLOW.nodes)
    expect(edges).toHaveLength(FLOW.edges.length)
    const helper = nodes.find((node) => node.id === 'helper')!
    expect(portsOf(helper as never, 'inputs', {}, undefined, edges).map((port) => port.name)).toEqual(['in', 'shelf'])
  })

  test('an edge that stands twice is drawn once', () => {
    expect(readFlow({ ...FLOW, edges: [...FLOW.edges, FLOW.edges[0]!] }, CATALOG).edges).toHaveLength(FLOW.edges.length)
  })

  test.each([['agent', [], 'agent'], ['agent', ['agent'], 'agent_2'], ['agent_2', ['agent', 'agent_2'], 'agent_3'], ['9 to 5', [], '_to_5'], ['名前', ['名前'], '名前_2'], ['!', [], '_']])(
    'a fresh id for %s beside %j is %s', (stem, taken, id) => expect(freshId(new Set(taken), stem)).toBe(id))
})

describe('the clipboard', () => {
  const graph = () => {
    const { nodes, edges } = readFlow(FLOW, CATALOG)
    return { nodes: nodes.map((node) => ({ ...node, selected: node.id === 'helper' || node.id === 'notes' || node.id === 'note:n1' })), edges }
  }

  test('takes the selected nodes and only the edges among them', () => {
    const part = readPart(copyText(graph(), CATALOG)!)!
    expect(part.nodes.map((node) => node.id)).toEqual(['helper', 'notes'])
    expect(part.edges).toEqual([{ source: 'notes', target: 'helper', target_port: 'shelf' }])
    expect(part.notes).toHaveLength(1)
  })

  test('gives new ids, edges that follow them, and nothing else changed', () => {
    const before = graph()
    const more = pasted(readPart(copyText(before, CATALOG)!)!, before, CATALOG)
    expect(more.nodes.map((node) => node.id)).toEqual(['helper_2', 'notes_2', 'note:note'])
    expect(more.edges.map((edge) => [edge.source, edge.sourceHandle, edge.target, edge.targetHandle, edge.data!.kind])).toEqual([['notes_2', 'shelf', 'helper_2', 'shelf', 'memory']])
    expect(more.nodes[0]!.data.config).toEqual(FLOW.nodes[1]!.config)
    expect(more.nodes.every((node) => node.selected)).toBe(true)
  })

  test('lies on nothing, and a copy of the same again neither', () => {
    let now: Pick<ReturnType<typeof readFlow>, 'nodes' | 'edges'> = graph()
    const text = copyText(now, CATALOG)!
    for (let round = 0; round < 3; round += 1) {
      const more = pasted(readPart(text)!, now, CATALOG)
      for (const one of more.nodes) {
        for (const other of now.nodes) {
          const apart = Math.abs(one.position.x - other.position.x) >= 220 || Math.abs(one.position.y - other.position.y) >= 110
          expect(apart, `${one.id} lies on ${other.id}`).toBe(true)
        }
      }
      now = { nodes: [...now.nodes, ...more.nodes], edges: [...now.edges, ...more.edges] }
    }
  })

  test('puts the corner of the part where the pointer is', () => {
    const before = graph()
    const more = pasted(readPart(copyText(before, CATALOG)!)!, before, CATALOG, { x: 1000, y: 1000 })
    expect(Math.min(...more.nodes.map((node) => node.position.x))).toBe(1000)
    expect(Math.min(...more.nodes.map((node) => node.position.y))).toBe(1000)
  })

  test('a whole flow document can be pasted, any other text cannot', () => {
    expect(readPart(JSON.stringify(FLOW))!.nodes).toHaveLength(4)
    for (const text of ['', 'hello', '[]', 'null', '{"nodes": []}', '{"format": "other/1", "nodes": []}']) expect(readPart(text)).toBeNull()
  })

  test('nothing selected is nothing copied', () => {
    expect(copyText(readFlow(FLOW, CATALOG), CATALOG)).toBeNull()
  })
})

describe('ports', () => {
  const { nodes, edges } = readFlow(FLOW, CATALOG)
  const ports = lookup(nodes, edges, CATALOG, {})
  const ends = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({ source, sourceHandle, target, targetHandle })

  test('join only where their kinds are the same', () => {
    expect(fits(ends('question', 'out', 'answer', 'in'), ports)).toBe('message')
    expect(fits(ends('notes', 'shelf', 'helper', 'shelf'), ports)).toBe('memory')
    expect(fits(ends('question', 'out', 'helper', 'shelf'), ports)).toBeNull()
    expect(fits(ends('helper', 'out', 'helper', 'in'), ports)).toBeNull()
    expect(fits(ends('helper', 'nowhere', 'answer', 'in'), ports)).toBeNull()
  })

  test('who joins what does not fit is told why', () => {
    const end = (node: string, side: 'inputs' | 'outputs', name: string) => ({ node, side, name })
    expect(misfit(end('notes', 'outputs', 'shelf'), end('helper', 'inputs', 'purse'), ports)).toBe('purse of helper takes budget, and this sends memory.')
    expect(misfit(end('helper', 'inputs', 'purse'), end('notes', 'outputs', 'shelf'), ports)).toBe('shelf of notes sends memory, and this takes budget.')
    expect(misfit(end('helper', 'outputs', 'out'), end('helper', 'inputs', 'in'), ports)).toContain('itself')
    expect(misfit(end('helper', 'outputs', 'out'), end('question', 'outputs', 'out'), ports)).toContain('send')
    expect(misfit(end('question', 'outputs', 'out'), end('answer', 'inputs', 'in'), ports)).toBeNull()
  })

  test('of a card come from the server where it says so', () => {
    const more = lookup(nodes, edges, CATALOG, { helper: { summary: '', inputs: [], outputs: [{ name: 'yes', kind: 'message' }] } })
    expect(fits(ends('helper', 'yes', 'answer', 'in'), more)).toBe('message')
    expect(fits(ends('helper', 'out', 'answer', 'in'), more)).toBeNull()
  })

  test('an open end is offered the types that take it', () => {
    expect(fitting(TYPES, 'message', 'inputs').map(({ type }) => type.name)).toEqual(['thinker', 'sink'])
    expect(fitting(TYPES, 'budget', 'outputs').map(({ port }) => port.name)).toEqual(['purse'])
  })
})

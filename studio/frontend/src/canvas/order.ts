// The order of nodes within the layers of a flow: edges cross as little as may be, counted from port to port, so that
// what follows a router stands in the order of its routes. Pure.

/** An edge between two neighbouring layers. `out` and `into` say where on its node each end is: 0 the top, 1 the bottom. */
export interface Link {
  from: string
  to: string
  out: number
  into: number
}

type Layers = readonly (readonly string[])[]
type Places = ReadonlyMap<string, number>

const ROUNDS = 8

const placesOf = (layers: Layers): Map<string, number> => new Map(layers.flatMap((layer) => layer.map((id, i) => [id, i] as const)))

/** Whether two edges cross; those that share an end do not. */
function cross(a: Link, b: Link, at: Places): boolean {
  const left = at.get(a.from)! + a.out - at.get(b.from)! - b.out
  const right = at.get(a.to)! + a.into - at.get(b.to)! - b.into
  return left * right < 0
}

/** Links by the layer in which they begin. */
function bundles(layers: Layers, links: readonly Link[]): Link[][] {
  const layerOf = new Map(layers.flatMap((layer, i) => layer.map((id) => [id, i] as const)))
  const found: Link[][] = layers.map(() => [])
  for (const link of links) found[layerOf.get(link.from)!]!.push(link)
  return found
}

/** How many pairs of edges cross. */
export function crossings(layers: Layers, links: readonly Link[]): number {
  const at = placesOf(layers)
  let found = 0
  for (const bundle of bundles(layers, links)) {
    for (let i = 0; i < bundle.length; i += 1) for (let j = 0; j < i; j += 1) if (cross(bundle[i]!, bundle[j]!, at)) found += 1
  }
  return found
}

interface Joined {
  /** Links that come to a node, and those that leave it. */
  before: ReadonlyMap<string, readonly Link[]>
  after: ReadonlyMap<string, readonly Link[]>
}

function joined(links: readonly Link[]): Joined {
  const before = new Map<string, Link[]>()
  const after = new Map<string, Link[]>()
  const put = (into: Map<string, Link[]>, id: string, link: Link) => into.set(id, [...(into.get(id) ?? []), link])
  for (const link of links) {
    put(before, link.to, link)
    put(after, link.from, link)
  }
  return { before, after }
}

/** A layer sorted by the middle of what its nodes are joined to; a node that is joined to nothing stays where it is. */
function byMiddles(layer: readonly string[], middle: (id: string) => number | null): string[] {
  const middles = new Map(layer.map((id) => [id, middle(id)] as const))
  const moving = layer.filter((id) => middles.get(id) !== null).sort((a, b) => middles.get(a)! - middles.get(b)!)
  let next = 0
  return layer.map((id) => (middles.get(id) === null ? id : moving[next++]!))
}

const mean = (numbers: readonly number[]) => (numbers.length ? numbers.reduce((sum, each) => sum + each, 0) / numbers.length : null)

function swept(layers: Layers, { before, after }: Joined, down: boolean): string[][] {
  const found = layers.map((layer) => [...layer])
  const at = placesOf(layers)
  const order = found.map((_, i) => (down ? i : found.length - 1 - i)).slice(1)
  for (const i of order) {
    found[i] = byMiddles(found[i]!, (id) => mean(down
      ? (before.get(id) ?? []).map((link) => at.get(link.from)! + link.out)
      : (after.get(id) ?? []).map((link) => at.get(link.to)! + link.into)))
    found[i].forEach((id, place) => at.set(id, place))
  }
  return found
}

/** Neighbours change places wherever fewer edges cross then. */
function exchanged(layers: Layers, { before, after }: Joined): string[][] {
  const found = layers.map((layer) => [...layer])
  const at = placesOf(found)
  const between = (a: string, b: string) => {
    let sum = 0
    for (const side of [before, after]) for (const x of side.get(a) ?? []) for (const y of side.get(b) ?? []) if (cross(x, y, at)) sum += 1
    return sum
  }
  for (let round = 0, better = true; better && round < ROUNDS; round += 1) {
    better = false
    for (const layer of found) {
      for (let i = 1; i < layer.length; i += 1) {
        const [a, b] = [layer[i - 1]!, layer[i]!]
        const now = between(a, b)
        if (!now) continue
        at.set(a, i).set(b, i - 1)
        if (between(a, b) < now) {
          layer[i - 1] = b
          layer[i] = a
          better = true
        } else at.set(a, i - 1).set(b, i)
      }
    }
  }
  return found
}

/** Each layer in the order in which one comes to its nodes, going by the ports from the top. */
function walked(layers: Layers, { after }: Joined): string[][] {
  const seen = new Set<string>()
  const go = (id: string) => {
    const left = [id]
    while (left.length) {
      const next = left.pop()!
      if (seen.has(next)) continue
      seen.add(next)
      left.push(...[...(after.get(next) ?? [])].sort((a, b) => b.out - a.out).map((link) => link.to))
    }
  }
  layers.flat().forEach(go)
  const rank = new Map([...seen].map((id, i) => [id, i]))
  return layers.map((layer) => [...layer].sort((a, b) => rank.get(a)! - rank.get(b)!))
}

/** The layers with their nodes in the best order that was found: never one in which more edges cross than in the given one. */
export function ordered(layers: Layers, links: readonly Link[]): string[][] {
  const sides = joined(links)
  let best = layers.map((layer) => [...layer])
  let least = crossings(best, links)
  for (const start of [best, walked(layers, sides)]) {
    let now = start
    for (let round = 0; round < ROUNDS && least; round += 1) {
      const tried = exchanged(now, sides)
      const cost = crossings(tried, links)
      if (cost < least) {
        best = tried
        least = cost
      }
      now = swept(round ? tried : now, sides, round % 2 === 0)
    }
  }
  return best
}

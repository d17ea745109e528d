// Which of many rows are on the screen. Rows differ in height, so offsets are sums, found again by halving.

export interface Offsets {
  readonly starts: Float64Array
  readonly total: number
}

export function offsets(heights: ArrayLike<number>): Offsets {
  const starts = new Float64Array(heights.length)
  let total = 0
  for (let i = 0; i < heights.length; i += 1) {
    starts[i] = total
    total += heights[i]!
  }
  return { starts, total }
}

/** Index of the row that covers this offset; 0 above the first, the last one below all. */
export function rowAt(starts: Float64Array, offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= offset) low = middle
    else high = middle - 1
  }
  return Math.max(0, low)
}

/** First and one past the last row to draw, with some on either side. */
export function visible(of: Offsets, top: number, height: number, spare = 8): { from: number; to: number } {
  const length = of.starts.length
  if (!length) return { from: 0, to: 0 }
  return {
    from: Math.max(0, rowAt(of.starts, top) - spare),
    to: Math.min(length, rowAt(of.starts, top + height) + 1 + spare),
  }
}

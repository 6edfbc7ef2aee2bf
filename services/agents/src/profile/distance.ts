/** The 32-bit numbers in bytes, little-endian as on every machine that Node runs on. */
export function numbersOf(bytes: Uint8Array): Float32Array {
  const aligned = bytes.slice() // a view must begin at a multiple of 4
  return new Float32Array(aligned.buffer, aligned.byteOffset, Math.floor(aligned.byteLength / 4))
}

/** 0 for the same direction, 1 for none in common, 2 for opposite ones; 1 where one has no direction. */
export function cosineDistance(a: Float32Array, b: Float32Array): number {
  let [dot, squaresA, squaresB] = [0, 0, 0]
  for (let n = 0; n < a.length; n++) {
    const [x, y] = [a[n] ?? 0, b[n] ?? 0]
    dot += x * y
    squaresA += x * x
    squaresB += y * y
  }
  const lengths = Math.sqrt(squaresA * squaresB)
  return lengths === 0 ? 1 : Math.max(0, Math.min(2, 1 - dot / lengths))
}

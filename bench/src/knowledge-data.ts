import { readFile } from 'node:fs/promises'

/**
 * Passages made up of a seed: the same in every process, so that none has to be handed over. Vectors lie in clusters
 * (a topic, in it a source, in it the passage), with as uneven a spread over the dimensions as embeddings have; words
 * are drawn as often as they stand in real texts, so by Zipf's law.
 */

export const ORGS = 20
/** The org whose sources all others see. */
export const PUBLISHER = 1
export const MODEL = 'bench'
export const PASSAGES_OF_SOURCE = 50
const DIMENSIONS = 1024
const TOPICS = 400
const WORDS_OF_PASSAGE = 60
const WORDS_OF_QUERY = 5
const MISSPELT_FROM = 6
/** How far sources lie from their topic, passages from their source and questions from their passage. */
const SPREAD = { source: 0.7, passage: 0.7, query: 0.5 }
/** Dimension i varies by (1 + i/16)^-½: a few carry most of the variance. */
const SCALE = Float32Array.from({ length: DIMENSIONS }, (_, i) => (1 + i / 16) ** -0.5)
const GAUSSIANS = gaussians(1 << 16)
const SEEDS = { topic: 1_000_003, source: 2_000_003, passage: 3_000_017, query: 4_000_037 }

const texts = new URL('../../test-e2e/data/', import.meta.url)
const FILES = [
  'newton-opticks-book1-part2.txt',
  'tom-sawyer-chapters-1-5.html',
  'us-constitution.md',
]

/** The source of a passage; sources go round the orgs. */
export const sourceOf = (passage: number) => Math.floor(passage / PASSAGES_OF_SOURCE)
export const orgOf = (source: number) => 1 + (source % ORGS)
export const isVisible = (passage: number, org: number) =>
  [org, PUBLISHER].includes(orgOf(sourceOf(passage)))

/** A unit vector. */
export function vectorOf(passage: number): Float32Array {
  const source = sourceOf(passage)
  const sum = new Float32Array(DIMENSIONS)
  add(sum, SEEDS.topic + (random(source)() % TOPICS), 1)
  add(sum, SEEDS.source + source, SPREAD.source)
  add(sum, SEEDS.passage + passage, SPREAD.passage)
  return unit(sum)
}

/** A question near a passage, which is the n-th asked. */
export function queryVector(passage: number, n: number): Float32Array {
  const vector = vectorOf(passage)
  const noise = unit(add(new Float32Array(DIMENSIONS), SEEDS.query + n, 1))
  for (let i = 0; i < DIMENSIONS; i++) vector[i] = (vector[i] ?? 0) + SPREAD.query * (noise[i] ?? 0)
  return unit(vector)
}

/** Text of passages and questions, from the words of three real texts. */
export async function vocabulary() {
  const whole = await Promise.all(FILES.map((file) => readFile(new URL(file, texts), 'utf8')))
  const words =
    whole
      .join(' ')
      .replace(/<[^>]*>/g, ' ')
      .match(/[A-Za-z]+/g) ?? []
  const drawn = (seed: number, count: number) => {
    const next = random(seed)
    return Array.from({ length: count }, () => words[next() % words.length] ?? '')
  }
  return {
    textOf: (passage: number) => drawn(SEEDS.passage + passage, WORDS_OF_PASSAGE).join(' '),
    /** The words with which the passage begins. */
    questionOf: (passage: number) => drawn(SEEDS.passage + passage, WORDS_OF_QUERY).join(' '),
    /** As many longer words of the passage, each with two letters swapped: one right word would spare the rest. */
    misspeltOf: (passage: number) =>
      drawn(SEEDS.passage + passage, WORDS_OF_PASSAGE)
        .filter(({ length }) => length >= MISSPELT_FROM)
        .slice(0, WORDS_OF_QUERY)
        .map(swapped)
        .join(' '),
  }
}

function swapped(word: string): string {
  const at = word.length >> 1
  return word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2)
}

/** Whole numbers below 2^32 by Marsaglia's xorshift32 (2003), begun by a hash of the seed. */
function random(seed: number): () => number {
  let state = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) | 1
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

function gaussians(count: number): Float32Array {
  const next = random(7)
  const uniform = () => (next() + 1) / (2 ** 32 + 1)
  return Float32Array.from({ length: count }, () => {
    return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()) // Box and Muller
  })
}

function add(sum: Float32Array, seed: number, weight: number): Float32Array {
  const next = random(seed)
  for (let i = 0; i < DIMENSIONS; i++) {
    const value = GAUSSIANS[next() % GAUSSIANS.length] ?? 0
    sum[i] = (sum[i] ?? 0) + weight * (SCALE[i] ?? 0) * value
  }
  return sum
}

function unit(vector: Float32Array): Float32Array {
  let square = 0
  for (const value of vector) square += value * value
  const length = Math.sqrt(square)
  return vector.map((value) => value / length)
}

import { LRUCache } from 'lru-cache'
import { createEncoder, unavailable } from './encoder.ts'
import { createQueue, type Job } from './queue.ts'

/** Numbers of every vector here (interface.md, Limits); the model's own 512 come first, zeros after. */
export const LENGTH = 1024
const MOST_KEPT = 2_000

export type Model = ReturnType<typeof createModel>

/** A small sentence encoder, loaded at its first use. Vectors of texts seen lately are kept. */
export function createModel(script = new URL('./process.ts', import.meta.url)) {
  const kept = new LRUCache<string, Promise<Float32Array>>({ max: MOST_KEPT })
  const queue = createQueue()
  const encoder = createEncoder(script)
  let busy = false
  let stopped = false

  async function work() {
    if (busy) return
    busy = true
    for (let jobs = queue.nextBatch(); jobs.length > 0; jobs = queue.nextBatch()) {
      await runBatch(encoder, jobs)
    }
    busy = false
  }

  function vectorOf(text: string, isQuestion: boolean): Promise<Float32Array> {
    const known = kept.get(text)
    if (known) return known
    if (stopped) return Promise.reject(unavailable('the sandbox stopped'))
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array>()
    kept.set(text, promise)
    promise.catch(() => kept.delete(text))
    queue.add({ text, resolve, reject }, isQuestion)
    void work()
    return promise
  }

  return {
    /** Loads the model ahead of its first use. */
    warm: () => vectorOf('warm', true).then(() => {}),
    /** The vector of each text, 1 024 numbers. A text that comes alone is a question and goes first. */
    async embed(texts: readonly string[]): Promise<Float32Array[]> {
      const vectors = await Promise.all(texts.map((text) => vectorOf(text, texts.length === 1)))
      return vectors.map(padded)
    },
    async stop() {
      stopped = true
      for (const { reject } of queue.clear()) reject(unavailable('the sandbox stopped'))
      await encoder.stop()
    },
  }
}

async function runBatch(encoder: ReturnType<typeof createEncoder>, jobs: Job[]) {
  try {
    const vectors = await encoder.run(jobs.map(({ text }) => text))
    for (const [i, vector] of vectors.entries()) jobs[i]?.resolve(vector)
  } catch (error) {
    for (const { reject } of jobs) reject(error as Error)
  }
}

function padded(vector: Float32Array) {
  const whole = new Float32Array(LENGTH)
  whole.set(vector)
  return whole
}

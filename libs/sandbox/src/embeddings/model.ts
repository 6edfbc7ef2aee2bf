import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'

/** Numbers of every vector here; the model's own 512 come first, zeros after. */
export const LENGTH = 1024
const MOST_KEPT = 5_000
/** A text this short is a question: somebody waits for it. */
const QUESTION_CHARS = 200

interface Waiting {
  text: string
  resolve(vector: Float32Array): void
  reject(error: Error): void
}

export type Model = ReturnType<typeof createModel>

/** A small sentence encoder in a thread of its own, started at the first use. Questions go before passages. */
export function createModel() {
  const kept = new LRUCache<string, Float32Array>({ max: MOST_KEPT })
  const questions: Waiting[] = []
  const passages: Waiting[] = []
  let worker: Promise<Worker> | undefined
  let busy = false

  function start() {
    worker ??= (async () => {
      const started = new Worker(new URL('./worker.ts', import.meta.url))
      await once(started, 'message')
      started.unref()
      return started
    })()
    return worker
  }

  async function work() {
    if (busy) return
    busy = true
    for (
      let next = questions.shift() ?? passages.shift();
      next;
      next = questions.shift() ?? passages.shift()
    ) {
      try {
        const running = await start()
        running.postMessage(next.text)
        const [vector] = (await once(running, 'message')) as [Float32Array]
        kept.set(next.text, vector)
        next.resolve(vector)
      } catch (error) {
        next.reject(error as Error)
      }
    }
    busy = false
  }

  return {
    /** Loads the model ahead of its first use. */
    warm: () => start().then(() => {}),
    /** The vector of a text: 1 024 numbers. */
    async embed(text: string): Promise<number[]> {
      const vector =
        kept.get(text) ??
        (await new Promise<Float32Array>((resolve, reject) => {
          const queue = text.length <= QUESTION_CHARS ? questions : passages
          queue.push({ text, resolve, reject })
          void work()
        }))
      return [...vector, ...new Array<number>(LENGTH - vector.length).fill(0)]
    },
    async stop() {
      const stopped = new Error('The sandbox stopped')
      for (const { reject } of [...questions.splice(0), ...passages.splice(0)]) reject(stopped)
      await (await worker)?.terminate()
    },
  }
}

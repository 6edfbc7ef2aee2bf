import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { AppError, type Kind } from '@guildhall/service/errors'
import type { Extracted } from './extract.ts'
import { tooComplex } from './text.ts'

/** For one file (decisions.md § 3: parsers in a worker with time and memory limits). */
const TIME_LIMIT_MS = 10_000
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
/** Buffers lie outside of the thread's heap and its limit. Of a Word document of 50 MB they take 160 MB. */
const MOST_BUFFER_BYTES = 256 * 1024 * 1024
/** A stream unpacks some 10 MB in that time. */
const LOOK_EVERY_MS = 50
/** A thread holds some 100 MB of parsers and their garbage, and starts in 0.3 s. */
const IDLE_MS = 2_000

export interface Extractor {
  /**
   * Like `extract`, in a thread of its own: what takes too long, too much memory or nests too deeply throws
   * `document.too_complex` and harms nothing else. One file at a time; later ones wait.
   */
  extract(name: string, bytes: Uint8Array): Promise<Extracted>
  /** Stops the thread; a file in hand throws `document.stopped`. */
  close(): Promise<void>
}

interface Refusal {
  kind: Kind
  code: string
  message: string
}
type Answer = { extracted: Extracted } | { refusal: Refusal }

/** Keeps one thread while there is work, and replaces it after it had to be killed. The options are for tests. */
export function createExtractor({ timeLimitMs = TIME_LIMIT_MS, idleMs = IDLE_MS } = {}): Extractor {
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined
  let last: Promise<unknown> = Promise.resolve()
  let closed = false

  const discard = async () => {
    clearTimeout(idle)
    const killed = worker
    worker = null
    await killed?.terminate()
  }
  const run = async (name: string, bytes: Uint8Array): Promise<Extracted> => {
    if (closed) throw stopped()
    clearTimeout(idle)
    worker ??= newWorker()
    const answer = await askWorker(worker, { name, bytes }, timeLimitMs)
    idle = setTimeout(discard, idleMs).unref()
    if (!answer) {
      await discard()
      throw closed ? stopped() : tooComplex()
    }
    if ('extracted' in answer) return answer.extracted
    const { kind, code, message } = answer.refusal
    throw new AppError(kind, code, message)
  }

  return {
    extract(name, bytes) {
      const result = last.then(() => run(name, bytes))
      last = result.catch(() => undefined)
      return result
    },
    async close() {
      closed = true
      await discard()
      await last
    },
  }
}

function newWorker(): Worker {
  const worker = new Worker(new URL(import.meta.url), { resourceLimits: LIMITS })
  worker.on('error', () => undefined) // a thread that dies without a file in hand is replaced at the next
  worker.unref()
  return worker
}

/** null when the thread died or was too slow, so it has to be discarded. */
function askWorker(worker: Worker, file: object, timeLimitMs: number): Promise<Answer | null> {
  return new Promise((resolve) => {
    const finish = (answer: Answer | null) => {
      clearTimeout(timer)
      stopWatch()
      worker.off('message', finish).off('exit', died)
      worker.unref()
      resolve(answer)
    }
    const died = () => finish(null)
    const timer = setTimeout(died, timeLimitMs)
    const stopWatch = watchBuffers(worker, died)
    worker.on('message', finish).on('exit', died)
    worker.ref()
    worker.postMessage(file)
  })
}

/** Calls back once the thread's buffers are too large, which a busy thread is asked in between its own work. */
function watchBuffers(worker: Worker, tooLarge: () => void): () => void {
  let over = false
  const watch = setInterval(async () => {
    const { external_memory: bytes } = await worker
      .getHeapStatistics()
      .catch(() => ({ external_memory: 0 })) // it has ended meanwhile
    if (bytes > MOST_BUFFER_BYTES && !over) tooLarge()
  }, LOOK_EVERY_MS)
  return () => {
    over = true
    clearInterval(watch)
  }
}

const stopped = () =>
  new AppError('unavailable', 'document.stopped', 'The service is stopping. Send the file again.')

/** Parsers recurse, so a file nested too deeply for the stack is refused like one too large. */
function refusalOf(error: unknown): Refusal {
  const refusal = error instanceof RangeError ? tooComplex() : error
  if (refusal instanceof AppError) {
    return { kind: refusal.kind, code: refusal.code, message: refusal.message }
  }
  const message = 'The file is damaged or in a form that cannot be read'
  return { kind: 'invalid', code: 'document.unreadable', message }
}

if (!isMainThread && parentPort) {
  const { extract } = await import('./extract.ts') // parsers are loaded in the thread only
  parentPort.on('message', async ({ name, bytes }: { name: string; bytes: Uint8Array }) => {
    let answer: Answer
    try {
      answer = { extracted: await extract(name, bytes) }
    } catch (error) {
      answer = { refusal: refusalOf(error) }
    }
    parentPort?.postMessage(answer)
  })
}

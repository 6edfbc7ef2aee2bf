import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { AppError, type Kind } from '@guildhall/service/errors'
import type { Cut, SplitOptions } from '../passages/split.ts'
import type { Extracted } from './extract.ts'
import { tooComplex } from './text.ts'
import { createTurns, type Whose } from './turns.ts'

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
   * `document.too_complex` and harms nothing else. One at a time; later ones wait for their turn (turns.ts).
   */
  extract(name: string, bytes: Uint8Array, whose: Whose): Promise<Extracted>
  /** Like `cutText`, in the same thread, with the same limits and turns. */
  cut(text: string, options: SplitOptions, whose: Whose): Promise<Cut[]>
  /** Stops the thread; what is in hand or waits throws `document.stopped`. */
  close(): Promise<void>
}

type Task = { name: string; bytes: Uint8Array } | { text: string; options: SplitOptions }
interface Refusal {
  kind: Kind
  code: string
  message: string
}
type Answer<Done> = { done: Done } | { refusal: Refusal }

/** Keeps one thread while there is work, and replaces it after it had to be killed. The options are for tests. */
export function createExtractor({ timeLimitMs = TIME_LIMIT_MS, idleMs = IDLE_MS } = {}): Extractor {
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined
  let closed = false
  const inTurn = createTurns()

  const discard = async () => {
    clearTimeout(idle)
    const killed = worker
    worker = null
    await killed?.terminate()
  }
  async function run<Done>(task: Task): Promise<Done> {
    if (closed) throw stopped()
    clearTimeout(idle)
    worker ??= newWorker()
    const answer = await askWorker<Done>(worker, task, timeLimitMs)
    idle = setTimeout(discard, idleMs).unref()
    if (!answer) {
      await discard()
      throw closed ? stopped() : tooComplex()
    }
    if ('done' in answer) return answer.done
    const { kind, code, message } = answer.refusal
    throw new AppError(kind, code, message)
  }

  return {
    extract: (name, bytes, whose) => inTurn(whose, () => run<Extracted>({ name, bytes })),
    cut: (text, options, whose) => inTurn(whose, () => run<Cut[]>({ text, options })),
    async close() {
      closed = true
      await discard()
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
function askWorker<Done>(
  worker: Worker,
  task: Task,
  timeLimitMs: number,
): Promise<Answer<Done> | null> {
  return new Promise((resolve) => {
    const finish = (answer: Answer<Done> | null) => {
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
    worker.postMessage(task)
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
  const { cutText } = await import('./cut.ts')
  const doneBy = (task: Task) =>
    'text' in task ? cutText(task.text, task.options) : extract(task.name, task.bytes)
  parentPort.on('message', async (task: Task) => {
    let answer: Answer<Extracted | Cut[]>
    try {
      answer = { done: await doneBy(task) }
    } catch (error) {
      answer = { refusal: refusalOf(error) }
    }
    parentPort?.postMessage(answer)
  })
}

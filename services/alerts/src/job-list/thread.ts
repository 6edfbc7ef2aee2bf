import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { AppError } from '@guildhall/service/errors'
import { type Row, readTable } from './table.ts'

/** For one list: whoever wrote it may have made it slow to read. */
const TIME_LIMIT_MS = 30_000
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32, stackSizeMb: 8 }

/**
 * Like `readTable`, in a thread of its own, so that a list which takes too long or too much memory harms
 * no other feed. Throws `feed.too_complex`.
 */
export async function readTableApart(
  markdown: string,
  timeLimitMs = TIME_LIMIT_MS,
): Promise<Row[] | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Row[] | undefined>()
  const worker = new Worker(new URL(import.meta.url), {
    workerData: markdown,
    resourceLimits: LIMITS,
  })
  const timer = setTimeout(() => reject(tooComplex()), timeLimitMs)
  worker
    .on('message', resolve)
    .on('error', (cause) => reject(tooComplex(cause)))
    .on('exit', () => reject(tooComplex()))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    await worker.terminate()
  }
}

const tooComplex = (cause?: unknown) =>
  new AppError(
    'upstream',
    'feed.too_complex',
    'The list takes too long to read; name a smaller file',
    { cause },
  )

if (!isMainThread) parentPort?.postMessage(readTable(workerData as string))

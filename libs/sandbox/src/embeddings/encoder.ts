import { Worker } from 'node:worker_threads'
import { AppError } from '@guildhall/service/errors'

/** What the worker answers to a batch: a vector for each text, or why none. */
export type Answer = { vectors: Float32Array[] } | { error: string }

/**
 * The model in a thread of its own, started at the first batch. A worker that dies fails the batch under way
 * with `embeddings.unavailable`; the next batch starts another.
 */
export function createEncoder(script: URL) {
  let worker: Worker | undefined
  let asked: PromiseWithResolvers<Float32Array[]> | undefined

  function open() {
    const opened = new Worker(script)
    opened.on('message', finish)
    opened.on('error', (error) => lose(opened, error as Error))
    opened.on('exit', (code) => lose(opened, new Error(`The worker ended with ${code}`)))
    return opened
  }

  function finish(answer: Answer) {
    worker?.unref() // an idle model keeps no process alive
    if ('vectors' in answer) asked?.resolve(answer.vectors)
    else asked?.reject(unavailable(answer.error))
  }

  function lose(lost: Worker, cause: Error) {
    if (worker !== lost) return
    worker = undefined
    asked?.reject(unavailable(cause.message, cause))
  }

  return {
    /** The vectors of a batch. One batch at a time: the caller waits for the last before it sends the next. */
    run(texts: readonly string[]): Promise<Float32Array[]> {
      worker ??= open()
      worker.ref()
      asked = Promise.withResolvers()
      worker.postMessage(texts)
      return asked.promise
    },
    async stop() {
      const last = worker
      if (last) lose(last, new Error('the sandbox stopped'))
      await last?.terminate()
    },
  }
}

/** `embeddings.unavailable`: answered as 503, may be tried again. */
export const unavailable = (why: string, cause?: Error) =>
  new AppError('unavailable', 'embeddings.unavailable', `The demo embedding model failed: ${why}`, {
    cause,
  })

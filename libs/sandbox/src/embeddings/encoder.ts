import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { AppError } from '@guildhall/service/errors'

/** What the process answers to a batch: a vector for each text, or why none. */
export type Answer = { vectors: Float32Array[] } | { error: string }

/**
 * The model in a process of its own, started at the first batch; it ends when this one does, however that
 * ends. One that dies fails the batch under way with `embeddings.unavailable`; the next batch starts another.
 */
export function createEncoder(script: URL) {
  let child: ChildProcess | undefined
  let asked: PromiseWithResolvers<Float32Array[]> | undefined

  function open() {
    const opened = fork(script, { serialization: 'advanced', execArgv: [], env: {} })
    opened.on('message', (answer) => finish(answer as Answer))
    opened.on('error', (error) => lose(opened, error))
    opened.on('exit', (code, signal) =>
      lose(opened, new Error(`The model's process ended with ${signal ?? code}`)),
    )
    return opened
  }

  function finish(answer: Answer) {
    hold(child, false) // an idle model keeps no process alive
    if ('vectors' in answer) asked?.resolve(answer.vectors)
    else asked?.reject(unavailable(answer.error))
  }

  function lose(lost: ChildProcess, cause: Error) {
    if (child !== lost) return
    child = undefined
    asked?.reject(unavailable(cause.message, cause))
  }

  return {
    /** The vectors of a batch. One batch at a time: the caller waits for the last before it sends the next. */
    run(texts: readonly string[]): Promise<Float32Array[]> {
      child ??= open()
      hold(child, true)
      asked = Promise.withResolvers()
      child.send(texts)
      return asked.promise
    },
    async stop() {
      const last = child
      if (!last) return
      lose(last, new Error('the sandbox stopped'))
      hold(last, true)
      const gone = once(last, 'exit')
      last.kill('SIGKILL') // it holds nothing that could be lost
      await gone
    },
  }
}

/** Whether this process stays alive for the other one. */
function hold(child: ChildProcess | undefined, held: boolean) {
  for (const handle of [child, child?.channel]) held ? handle?.ref() : handle?.unref()
}

/** `embeddings.unavailable`: answered as 503, may be tried again. */
export const unavailable = (why: string, cause?: Error) =>
  new AppError('unavailable', 'embeddings.unavailable', `The demo embedding model failed: ${why}`, {
    cause,
  })

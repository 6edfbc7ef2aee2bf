/** One text that waits for its vector. */
export interface Job {
  text: string
  resolve(vector: Float32Array): void
  reject(error: Error): void
}

/**
 * A batch takes as long as its longest text times their number, for shorter ones are padded. This many
 * characters, padding counted, keep the model about 70 ms on one core: as long as a question may have to wait.
 */
const BATCH_CHARS = 700
const BATCH_TEXTS = 16

/** Texts in the order in which they are due: what somebody waits for goes before what fills an index. */
export function createQueue() {
  const questions: Job[] = []
  const passages: Job[] = []
  return {
    add: (job: Job, isQuestion: boolean) => (isQuestion ? questions : passages).push(job),
    /** The jobs that go to the model together; none where nothing waits. */
    nextBatch(): Job[] {
      const from = questions.length > 0 ? questions : passages
      return from.splice(0, batchSize(from))
    },
    clear: (): Job[] => [...questions.splice(0), ...passages.splice(0)],
  }
}

/** How many of the first jobs fit into one batch; the first always does. */
function batchSize(jobs: readonly Job[]): number {
  let longest = 0
  const beyond = jobs.slice(0, BATCH_TEXTS).findIndex(({ text }, before) => {
    longest = Math.max(longest, text.length)
    return before > 0 && longest * (before + 1) > BATCH_CHARS
  })
  return beyond === -1 ? Math.min(jobs.length, BATCH_TEXTS) : beyond
}

import { readFileSync } from 'node:fs'
import { findPassages } from '@guildhall/knowledge/search/find'
import { quantile } from './children.ts'
import { MODEL, PUBLISHER, queryVector, vocabulary } from './knowledge-data.ts'
import { openKnowledge } from './knowledge-deps.ts'
import { type Asked, questions } from './knowledge-questions.ts'

/** Knowledge as it serves, in a fresh process: answers questions inside the service, tells what that cost, and ends. */

const WARMING = 40
const CANDIDATES = 50
/** Questions of these: enough for a p50, and the whole takes little longer. */
const MISSPELT = 100

export interface Times {
  p50: number
  p99: number
}
export interface Served {
  hybrid: Times
  /** As hybrid, but every word of the question is misspelt. */
  misspelt: Times
  text: Times
  vector: Times
  /** The ids that the vector search of each question found, best first. */
  nearest: string[][]
  peakMb: number
}

const [url = '', dir = '', passages = '', count = ''] = process.argv.slice(2)
const words = await vocabulary()
const asked = questions(Number(passages), Number(count) + WARMING).map((question) => ({
  ...question,
  query: words.questionOf(question.passage),
  vector: queryVector(question.passage, question.n),
}))
type Question = (typeof asked)[0] & Asked
const deps = await openKnowledge({ url, dir })
const scope = { publishers: [PUBLISHER], limit: CANDIDATES }

const hybrid = ({ org, query, vector }: Question) =>
  findPassages(deps, { id: org }, { query, embedding: [...vector], embedding_model: MODEL })
const text = ({ org, query }: Question) => deps.index.searchText({ ...scope, org, query })
const vector = ({ org, vector }: Question) =>
  deps.index.searchVector({ ...scope, org, vector, model: MODEL, maxDistance: 2 })

async function timed<T>(run: (question: Question) => Promise<T>, most = Number(count)) {
  for (const question of asked.slice(0, WARMING)) await run(question)
  const ms: number[] = []
  const answers: T[] = []
  for (const question of asked.slice(WARMING, WARMING + most)) {
    const began = performance.now()
    answers.push(await run(question))
    ms.push(performance.now() - began)
  }
  return { times: { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) }, answers }
}

const both = await timed(hybrid)
const slipped = await timed(
  (question) => hybrid({ ...question, query: words.misspeltOf(question.passage) }),
  MISSPELT,
)
const byText = await timed(text)
const byVector = await timed(vector)
const served: Served = {
  hybrid: both.times,
  misspelt: slipped.times,
  text: byText.times,
  vector: byVector.times,
  nearest: byVector.answers.map((hits) => hits.map(({ id }) => id)),
  peakMb: peakMb(),
}
process.on('message', async () => {
  await deps[Symbol.asyncDispose]()
  process.exit(0)
})
process.send?.(served)

/** The most that was ever resident, in megabytes (10^6 bytes). */
function peakMb() {
  const status = readFileSync('/proc/self/status', 'utf8')
  return Math.round((Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6)
}

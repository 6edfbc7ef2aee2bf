import { cpus } from 'node:os'
import { join } from 'node:path'
import { child, end } from './children.ts'
import { vocabulary } from './knowledge-data.ts'
import { openKnowledge, type Place } from './knowledge-deps.ts'
import { exactNearest, recall } from './knowledge-exact.ts'
import { withHome } from './knowledge-home.ts'
import { load } from './knowledge-load.ts'
import { postgresText } from './knowledge-postgres.ts'
import type { Served } from './knowledge-process.ts'
import { questions } from './knowledge-questions.ts'
import { measureWrites } from './knowledge-writes.ts'

const SIZES = [1_000, 10_000, 100_000]
const QUESTIONS = 400
const WARMING = 40

/** `npm run bench knowledge`: what a search costs and finds at each size, and what writing costs. */
export async function benchKnowledge() {
  await withHome(async (place) => {
    const sizes = []
    let from = 0
    for (const to of SIZES) {
      sizes.push(await measureSize(place, from, to))
      from = to
    }
    show(sizes, await measureWrites(join(place.dir, '..', 'alone')))
  })
}

/** Brings the passages from one size to the next, then searches them in a process of its own. */
async function measureSize(place: Place, from: number, to: number) {
  const words = await vocabulary()
  const asked = questions(to, QUESTIONS + WARMING).slice(WARMING)
  await using knowledge = await openKnowledge(place)
  const seconds = await load(knowledge, words, from, to)
  const began = performance.now()
  await knowledge.index.upkeep()
  const upkeep = (performance.now() - began) / 1000
  const args = [place.url, place.dir, `${to}`, `${QUESTIONS}`]
  const serving = await child<Served>('./knowledge-process.ts', args, process.env)
  await end(serving.process)
  const { nearest, times: exact } = exactNearest(to, asked)
  const postgres = await postgresText(knowledge.db, asked, words)
  const found = await recall(knowledge.db, serving.said.nearest, nearest)
  return {
    passages: to,
    perSecond: (to - from) / seconds,
    upkeep,
    ...serving.said,
    exact,
    postgres,
    recall: found,
  }
}

type Size = Awaited<ReturnType<typeof measureSize>>

function show(sizes: Size[], alone: Awaited<ReturnType<typeof measureWrites>>) {
  const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
  const row = (what: string, cell: (size: Size) => unknown) => line(what, ...sizes.map(cell))
  const ms = ({ p50, p99 }: { p50: number; p99: number }) => `${p50.toFixed(1)} / ${p99.toFixed(1)}`
  const ratio = (a: number, b: number) => (a / b).toFixed(2)
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`,
  )
  row('ms, p50 / p99', ({ passages }) => `${passages} passages`)
  line('---', ...sizes.map(() => '---'))
  row('hybrid', ({ hybrid }) => ms(hybrid))
  row('hybrid, misspelt question', ({ misspelt }) => ms(misspelt))
  row('misspelt, of the right one (p50)', ({ misspelt, hybrid }) => ratio(misspelt.p50, hybrid.p50))
  row('by text', ({ text }) => ms(text))
  row('Postgres full text', ({ postgres }) => ms(postgres))
  row('by text, of Postgres (p50)', ({ text, postgres }) => ratio(text.p50, postgres.p50))
  row('by vector', ({ vector }) => ms(vector))
  row('exact scan of the vectors in memory', ({ exact }) => ms(exact))
  row('by vector, of the exact scan (p50)', ({ vector, exact }) => ratio(vector.p50, exact.p50))
  row('recall@10 by vector', (size) => size.recall.toFixed(3))
  row('most resident while serving, MB', ({ peakMb }) => peakMb)
  row('written through the whole path, passages/s', ({ perSecond }) => Math.round(perSecond))
  row('upkeep after that, s', ({ upkeep }) => upkeep.toFixed(1))
  console.log()
  line('index.write alone, new index', 'passages/s')
  line('---', '---')
  for (const { rows, perSecond } of alone) line(`${rows} passages a write`, Math.round(perSecond))
}

import { randomUUID } from 'node:crypto'
import { openEmbedded } from '@guildhall/knowledge/search/embedded'
import { createLog } from '@guildhall/service/log'
import { MODEL, orgOf, sourceOf, vectorOf, vocabulary } from './knowledge-data.ts'

const ROWS = 5_000
const GROUPS = [50, 1_000]

/** Passages a second that the index alone takes, by writes of different sizes one after the other. */
export async function measureWrites(dir: string) {
  const { textOf } = await vocabulary()
  const log = createLog('bench', { format: 'json', level: 'error' })
  const measured = []
  for (const group of GROUPS) {
    const index = await openEmbedded({ dir: `${dir}-${group}`, log })
    const rows = Array.from({ length: ROWS }, (_, passage) => ({
      id: randomUUID(),
      org: orgOf(sourceOf(passage)),
      public: false,
      category: 'docs',
      version: `${sourceOf(passage)}`,
      level: 0,
      model: MODEL,
      text: textOf(passage),
      vector: vectorOf(passage),
    }))
    const began = performance.now()
    for (let at = 0; at < ROWS; at += group) await index.write(rows.slice(at, at + group))
    measured.push({ rows: group, perSecond: (ROWS / (performance.now() - began)) * 1000 })
    await index.close()
  }
  return measured
}

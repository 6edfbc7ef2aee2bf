import type { Deps } from '@guildhall/knowledge/deps'
import { type Draft, writeSource } from '@guildhall/knowledge/sources/write'
import {
  MODEL,
  orgOf,
  PASSAGES_OF_SOURCE,
  PUBLISHER,
  vectorOf,
  type vocabulary,
} from './knowledge-data.ts'

/** Writers at once, as crawls, uploads and callers of the API. */
const AT_ONCE = 8
/** Sources made up before the clock runs for them: 20 MB of vectors. */
const PREPARED = 100

type Vocabulary = Awaited<ReturnType<typeof vocabulary>>

/** Writes passages from `from` up to `to` as whole sources, and answers for how many seconds that took; making them up is not counted. */
export async function load(deps: Deps, words: Vocabulary, from: number, to: number) {
  const sources = Array.from(
    { length: (to - from) / PASSAGES_OF_SOURCE },
    (_, n) => from / PASSAGES_OF_SOURCE + n,
  )
  let ms = 0
  while (sources.length > 0) {
    const drafts = sources
      .splice(0, PREPARED)
      .map((source) => ({ source, draft: draftOf(source, words) }))
    const began = performance.now()
    await Promise.all(Array.from({ length: AT_ONCE }, () => writeAll(deps, drafts)))
    ms += performance.now() - began
  }
  return ms / 1000
}

async function writeAll(deps: Deps, drafts: { source: number; draft: Draft }[]) {
  const by = { source: 'http', actor_kind: 'machine', actor_id: 'bench' } as const
  for (let next = drafts.pop(); next; next = drafts.pop()) {
    const id = orgOf(next.source)
    const org = {
      id,
      prefix: `org${id}`,
      name: `Org ${id}`,
      modules: [],
      publisher: id === PUBLISHER,
    }
    await writeSource(deps, org, next.draft, by)
  }
}

function draftOf(source: number, { textOf }: Vocabulary): Draft {
  const first = source * PASSAGES_OF_SOURCE
  const passages = Array.from({ length: PASSAGES_OF_SOURCE }, (_, n) => first + n)
  return {
    key: `source-${source}`,
    content_hash: `${source}`,
    category: 'docs',
    title: `Source ${source}`,
    url: '',
    public: orgOf(source) === PUBLISHER,
    passages: passages.map((passage, ordinal) => ({
      ordinal,
      level: 0,
      parent_ordinal: null,
      content: textOf(passage),
    })),
    vectors: { model: MODEL, of: passages.map(vectorOf) },
  }
}

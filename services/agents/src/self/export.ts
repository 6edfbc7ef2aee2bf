import { shownMessage } from '../conversations/rules.ts'
import type { Owner } from '../db.ts'
import type { Deps } from '../deps.ts'
import { shownMemory } from '../memories/seal.ts'
import { profilePage } from '../profile/queries.ts'
import { conversationsAfter, memoriesAfter, messagesAfter, pendingAfter } from './queries.ts'
import { shownAction, shownConversation } from './shown.ts'

/** Rows that are in memory at once; a message has up to 64 kB. */
const PAGE = 50

type Wanted = Pick<Deps, 'db' | 'sealer' | 'now'>

/**
 * Everything that is held of a member as one JSON object, piece by piece, read page by page so that no
 * transaction waits for a slow reader. A sensitive memory that cannot be opened has `content: null`.
 */
export async function* exported(deps: Wanted, owner: Owner, about: object) {
  const open = JSON.stringify({ ...about, exported_at: deps.now().toISOString() }).slice(0, -1)
  yield `${open},\n"conversations":[`
  yield* conversations(deps, owner)
  yield '],\n"memories":['
  yield* separated(memories(deps, owner))
  yield '],\n"profile":{"nodes":['
  yield* separated(profile(deps, owner, 'node'))
  yield '],\n"relations":['
  yield* separated(profile(deps, owner, 'relation'))
  yield ']},\n"pending":['
  yield* separated(pending(deps, owner))
  yield ']}\n'
}

/** Goes through a list page by page; `keyOf` is what the next page comes after. */
async function* all<T>(
  read: (after: string | undefined) => Promise<T[]>,
  keyOf: (item: T) => string,
): AsyncGenerator<T> {
  let after: string | undefined
  for (;;) {
    const page = await read(after)
    yield* page
    const last = page.at(-1)
    if (page.length < PAGE || last === undefined) return
    after = keyOf(last)
  }
}

async function* separated(items: AsyncIterable<unknown>) {
  let first = true
  for await (const item of items) {
    yield `${first ? '' : ','}\n${JSON.stringify(item)}`
    first = false
  }
}

async function* conversations({ db }: Wanted, owner: Owner) {
  const rows = all(
    (after) => conversationsAfter(db, owner, { after, limit: PAGE }),
    ({ id }) => id,
  )
  let first = true
  for await (const row of rows) {
    const { messages: _, ...held } = shownConversation(row)
    yield `${first ? '' : ','}\n${JSON.stringify(held).slice(0, -1)},"messages":[`
    yield* separated(messages(db, row.id))
    yield ']}'
    first = false
  }
}

async function* messages(db: Wanted['db'], conversation: string) {
  const rows = all(
    (after) => messagesAfter(db, conversation, { after: Number(after ?? 0), limit: PAGE }),
    ({ seq }) => String(seq),
  )
  for await (const row of rows) {
    yield row.covers === null ? shownMessage(row) : { ...shownMessage(row), covers: row.covers }
  }
}

async function* memories({ db, sealer }: Wanted, owner: Owner) {
  const rows = all(
    (after) => memoriesAfter(db, owner, { after, limit: PAGE }),
    ({ id }) => id,
  )
  for await (const row of rows) {
    const { id, kind, created_at } = row
    const sealed = { id, kind, created_at, content: null, sensitivity: 'sensitive' }
    yield shownMemory(sealer, row) ?? sealed
  }
}

/** Of the list that has nodes and then relations, one of the two. */
async function* profile({ db }: Wanted, owner: Owner, part: 'node' | 'relation') {
  const items = all(
    (before) => profilePage(db, owner, { before, limit: PAGE }),
    ({ key }) => key,
  )
  for await (const item of items) {
    if (part === 'node' && 'node' in item) yield item.node
    if (part === 'relation' && 'relation' in item) yield item.relation
  }
}

async function* pending({ db, now }: Wanted, owner: Owner) {
  const rows = all(
    (after) => pendingAfter(db, owner, { after, limit: PAGE }),
    ({ id }) => id,
  )
  for await (const row of rows) yield shownAction(row, now())
}

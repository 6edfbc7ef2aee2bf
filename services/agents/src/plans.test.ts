import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { wholeFile } from '@guildhall/service/testing'
import { CompiledQuery, type QueryResult, sql, type UnknownRow } from 'kysely'
import type { Db } from './db.ts'
import { memoriesOf } from './memories/queries.ts'
import { pendingOf } from './pending/queries.ts'
import { profilePage } from './profile/queries.ts'
import { memoriesAfter, newestConversations } from './self/queries.ts'
import { type TestAgents, testAgents } from './testing.ts'

const MEMBERS = 40
const ROWS = 500
const LIMIT = 20
/** Pages of 8 kB that 20 rows and the way to them take; an index that lacks a column takes hundreds. */
const MOST_PAGES = 200

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
  const { db } = agents
  const member = sql`1, (10000 + n % ${MEMBERS})::text`
  const rows = sql`generate_series(1, ${MEMBERS * ROWS}) as n`
  const at = sql`now() + make_interval(days => n % ${MEMBERS}, secs => n)`
  const filler = sql`repeat('x', 200)`
  for (const statement of [
    sql`insert into nodes (org_id, chat_user_id, id, kind, label, updated_at)
      select ${member}, gen_random_uuid(), 'n', n || ${filler}, ${at} from ${rows}`,
    sql`insert into memories (org_id, chat_user_id, id, kind, content, confidence, created_at, expires_at)
      select ${member}, gen_random_uuid(), 'task', ${filler}, 1, now(), case when n % ${MEMBERS} < 2 then now() end from ${rows}`,
    sql`insert into conversations (org_id, chat_user_id, id, channel_id, visibility, created_at, updated_at)
      select ${member}, gen_random_uuid(), 'a', 'public', ${at}, ${at} from ${rows}`,
    sql`insert into pending_actions (org_id, chat_user_id, id, action, payload_hash, created_at, expires_at)
      select ${member}, gen_random_uuid(), '{}', ${filler}, ${at}, ${at} from ${rows}`,
    sql`insert into relations (org_id, chat_user_id, id, subject, relation, object, confidence)
      select org_id, chat_user_id, gen_random_uuid(), id, 'is', id, 1 from nodes`,
  ])
    await statement.execute(db)
  await sql`vacuum analyze`.execute(db)
})

const owner = { org_id: 1, chat_user_id: '10005' }
const page = { after: '00000000-0000-7000-8000-000000000000', limit: LIMIT }
const reads: Record<string, (db: Db) => Promise<unknown>> = {
  'nodes by id': (db) => profilePage(db, owner, { before: `n${page.after}`, limit: LIMIT }),
  'relations by id': (db) => profilePage(db, owner, { before: `r${page.after}`, limit: LIMIT }),
  'memories by id': (db) => memoriesAfter(db, owner, page),
  'the newest conversations': (db) => newestConversations(db, owner, LIMIT),
  'the newest actions': (db) => pendingOf(db, owner, LIMIT),
  'the best memories': (db) => best(db, owner),
  'the best memories where all have expired': (db) => best(db, { ...owner, chat_user_id: '10001' }),
}
const best = (db: Db, who: typeof owner) =>
  memoriesOf({ db, sealer: { ready: true } as never }, who, {
    ...{ kinds: undefined, limit: LIMIT, now: new Date(Date.now() + 3_600_000) },
  })

/** Pages of 8 kB that Postgres touches for the statements of `read`. */
async function pagesOf(db: Db, read: (db: Db) => Promise<unknown>) {
  const statements: CompiledQuery[] = []
  const spied = db.withPlugin({
    transformQuery: ({ node, queryId }) => {
      statements.push(db.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }): Promise<QueryResult<UnknownRow>> => result,
  })
  await read(spied)
  assert.ok(statements.length > 0)
  let pages = 0
  for (const { sql: text, parameters } of statements) {
    const explained = CompiledQuery.raw(`explain (analyze, buffers, format json) ${text}`, [
      ...parameters,
    ])
    const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      explained,
    )
    const [{ Plan: plan }] = rows[0]?.['QUERY PLAN'] ?? assert.fail()
    pages += (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
  }
  return pages
}

for (const [name, read] of Object.entries(reads)) {
  test(`a page of ${name} of one member reads little, however much all others have`, async () => {
    const pages = await pagesOf(agents.db, read)
    assert.ok(pages <= MOST_PAGES, `${pages} pages`)
  })
}

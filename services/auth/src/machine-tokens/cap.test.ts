import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMachineToken, listMachineTokens } from '@guildhall/contracts/tokens'
import { newId } from '@guildhall/service/id'
import { officer, type TestAuth, testAuth } from '../testing.ts'
import { MOST_MACHINE_TOKENS } from './routes.ts'

const HOUR_MS = 3_600_000

function clientOf({ as, org }: TestAuth) {
  const client = as({ caller: officer(), org })
  const params = { org_id: String(org.id) }
  const body = { name: 'app', kind: 'app' as const, scopes: ['org:read' as const] }
  return {
    make: () => client.call(createMachineToken, { params, body }),
    /** The names on each page. */
    async pages(limit: number) {
      const pages: string[][] = []
      let cursor: string | null | undefined
      do {
        const query = { limit: String(limit), ...(cursor ? { cursor } : {}) }
        const reply = await client.call(listMachineTokens, { params, query })
        assert.ok(reply.status === 200)
        pages.push(reply.body.tokens.map(({ name }) => name))
        cursor = reply.body.next_cursor
      } while (cursor)
      return pages
    },
  }
}

/** Rows that somebody made before. */
async function insert(
  { db, org }: TestAuth,
  name: string,
  count: number,
  expires_at: Date | null,
  memberOf = (_n: number): { chat_user_id: string; username: string } | object => ({}),
) {
  const rows = Array.from({ length: count }, (_, n) => {
    const id = newId()
    const rest = { kind: 'app' as const, scopes: ['org:read'], limits: '{}', created_by: '1' }
    return {
      id,
      org_id: org.id,
      name,
      sha256: id,
      display: 'plat_',
      expires_at,
      ...rest,
      ...memberOf(n),
    }
  })
  await db.insertInto('machine_tokens').values(rows).execute()
}

test('of ten who make the last machine token of an org at once one succeeds', async (t) => {
  const auth = await testAuth(t)
  await insert(auth, 'live', MOST_MACHINE_TOKENS - 1, null)
  await insert(auth, 'expired', 5, new Date(Date.now() - HOUR_MS))
  const { make } = clientOf(auth)
  const replies = await Promise.all(Array.from({ length: 10 }, make))
  assert.equal(replies.filter(({ status }) => status === 201).length, 1)
  const refused = replies.flatMap((reply) => (reply.status === 409 ? [reply.body] : []))
  assert.equal(refused.length, 9)
  for (const { code, error } of refused) {
    assert.equal(code, 'machine_token.too_many')
    assert.match(error, /delete one/)
  }
})

const member = (n: number) => ({ chat_user_id: String(10_000 + n), username: `member${n}` })

test("tokens of members' CLIs take none of an org's room for others", async (t) => {
  const auth = await testAuth(t)
  await insert(auth, 'cli', MOST_MACHINE_TOKENS, new Date(Date.now() + HOUR_MS), member)
  assert.equal((await clientOf(auth).make()).status, 201)
})

test("officers' tokens come first, those that count before expired ones, and every page goes on", async (t) => {
  const auth = await testAuth(t)
  const [later, before] = [HOUR_MS, -HOUR_MS].map((ms) => new Date(Date.now() + ms))
  assert.ok(later && before)
  await insert(auth, 'cli', 2, later, member)
  await insert(auth, 'live', 3, later)
  await insert(auth, 'expired', 4, before)
  await insert(auth, 'live', 2, null)
  await insert(auth, 'expired cli', 2, before, (n) => member(100 + n))
  const all = [
    ...Array(5).fill('live'),
    ...Array(4).fill('expired'),
    ...Array(2).fill('cli'),
    ...Array(2).fill('expired cli'),
  ]
  const { pages } = clientOf(auth)
  assert.deepEqual(await pages(13), [all])
  for (const limit of [1, 3]) assert.deepEqual((await pages(limit)).flat(), all)
})

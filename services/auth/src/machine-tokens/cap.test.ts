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
    async names() {
      const reply = await client.call(listMachineTokens, { params })
      assert.ok(reply.status === 200)
      return reply.body.tokens.map(({ name }) => name)
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

test('a list shows every token that counts, and of expired ones as many as it has room for', async (t) => {
  const auth = await testAuth(t)
  await insert(auth, 'live', 3, new Date(Date.now() + HOUR_MS))
  await insert(auth, 'live', 3, null)
  await insert(auth, 'expired', MOST_MACHINE_TOKENS, new Date(Date.now() - HOUR_MS))
  const names = await clientOf(auth).names()
  assert.equal(names.length, MOST_MACHINE_TOKENS)
  assert.equal(names.filter((name) => name === 'live').length, 6)
})

test("tokens of members' CLIs never crowd those of officers out of the list", async (t) => {
  const auth = await testAuth(t)
  await insert(auth, 'live', 3, null)
  await insert(auth, 'expired', 2, new Date(Date.now() - HOUR_MS))
  const member = (n: number) => ({ chat_user_id: String(10_000 + n), username: `member${n}` })
  await insert(auth, 'cli', MOST_MACHINE_TOKENS, new Date(Date.now() + HOUR_MS), member)
  const names = await clientOf(auth).names()
  const count = (wanted: string) => names.filter((name) => name === wanted).length
  assert.deepEqual([count('live'), count('expired'), count('cli')], [3, 2, MOST_MACHINE_TOKENS - 5])
})

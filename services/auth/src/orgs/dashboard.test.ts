import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaOf } from '@guildhall/bus/testing'
import { newId } from '@guildhall/service/id'
import { migrations, type Tables } from '../db.ts'
import { sectionsOf } from './dashboard.ts'

const NOW = new Date('2031-05-10T12:00:00Z')
const inDays = (n: number) => new Date(NOW.getTime() + n * 86_400_000)

test('tokens that count are those of the org alone', async (t) => {
  const db = await schemaOf<Tables>(t, 'auth', migrations)
  const orgOf = async (prefix: string) => {
    const org = { prefix, name: prefix, chat_server_id: prefix, officer_role_id: null }
    const { id } = await db
      .insertInto('orgs')
      .values({ ...org, logo_url: null, accent_color: null, website_url: null })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }
  const tokenOf = (org_id: number, kind: 'agent' | 'app' | 'cli', expires_at: Date | null) => {
    const id = newId()
    const of = kind === 'cli' ? id : null
    const row = { id, org_id, name: 'x', kind, scopes: [], limits: '{}', sha256: id, display: 'x' }
    const owner = { chat_user_id: of, username: of, last_used_at: null, created_by: '1' }
    return db
      .insertInto('machine_tokens')
      .values({ ...row, ...owner, expires_at })
      .execute()
  }
  const [one, two] = [await orgOf('one'), await orgOf('two')]
  for (const org of [one, two, two]) {
    await tokenOf(org, 'agent', null)
    await tokenOf(org, 'app', inDays(29))
    await tokenOf(org, 'app', inDays(31))
    await tokenOf(org, 'agent', inDays(-1))
    await tokenOf(org, 'cli', inDays(1))
    await tokenOf(org, 'cli', inDays(-1))
  }
  for (const [org, n] of [
    [one, 1],
    [two, 2],
  ] as const) {
    const tokens = { machine_tokens: 3 * n, ending_soon: n, cli_tokens: n }
    assert.deepEqual(await sectionsOf(db, org, NOW), { tokens })
  }
})

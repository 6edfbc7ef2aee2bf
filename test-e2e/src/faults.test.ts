import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { createMachineToken, listMachineTokens } from '@guildhall/contracts/tokens'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import type { Client } from './people.ts'
import { testStack } from './stack.ts'

const WRITES_BEFORE = 10
const WRITES_AFTER = 10
const DEADLINE_MS = 30_000

for (const server of ['postgres', 'nats'] as const) {
  test(`${server} killed under load comes back, and nothing acknowledged is lost`, async (t) => {
    const stack = await testStack(t, { DATABASE_URL: '' }) // its own Postgres, to be killed
    const { as, children, orgId, signIn } = stack
    const officer = (await signIn(people.officer)).access_token
    const client = as(officer)
    const org_id = String(await orgId(officer))

    const acknowledged: string[] = []
    let stopped = false
    const write = async (i: number) => {
      const body = { name: `token ${i}`, kind: 'app' as const, scopes: ['org:read' as const] }
      const reply = await client.call(createMachineToken, { params: { org_id }, body })
      if (reply.status === 201) acknowledged.push(reply.body.id)
      else assert.ok([503].includes(reply.status), `${reply.status} ${JSON.stringify(reply.body)}`)
    }
    const load = (async () => {
      for (let i = 0; !stopped; i++) await write(i)
    })()
    await until(() => acknowledged.length >= WRITES_BEFORE, DEADLINE_MS)
    const pid = children()[server]
    assert.ok(pid)
    process.kill(pid, 'SIGKILL')
    const atKill = acknowledged.length
    await until(() => acknowledged.length >= atKill + WRITES_AFTER, DEADLINE_MS)
    stopped = true
    await load

    const listed = await client.call(listMachineTokens, { params: { org_id } })
    assert.ok(listed.status === 200)
    const there = new Set(listed.body.tokens.map(({ id }) => id))
    assert.deepEqual(
      acknowledged.filter((id) => !there.has(id)),
      [],
    )
    const audited = await until(async () => {
      const ids = await auditedTokens(client, org_id)
      return acknowledged.every((id) => ids.includes(id)) && ids
    }, DEADLINE_MS)
    assert.equal(new Set(audited).size, audited.length, 'an audit line was stored twice')
  })
}

async function auditedTokens(client: Client, org_id: string) {
  const ids: unknown[] = []
  let cursor: string | undefined
  do {
    const query = { action: 'auth.machine_token.created', limit: '500', cursor }
    const reply = await client.call(listOrgAudit, { params: { org_id }, query })
    assert.ok(reply.status === 200)
    ids.push(...reply.body.entries.map(({ details }) => details.token_id))
    cursor = reply.body.next_cursor ?? undefined
  } while (cursor)
  return ids
}

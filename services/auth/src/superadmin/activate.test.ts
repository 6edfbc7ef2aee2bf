import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { changed, changedSubject } from '@guildhall/contracts/event'
import { findOrg } from '@guildhall/contracts/orgs'
import { activateOrg, deactivateOrg } from '@guildhall/contracts/superadmin'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { callerOf, testAuth } from '../testing.ts'

const caller = { kind: 'superadmin' as const, ...callerOf(people.superadmin) }

async function opened(t: Parameters<typeof busAs>[0]) {
  const auth = await testAuth(t)
  const gateway = await busAs(t, { url: auth.settings.NATS_URL, peer: 'gateway' })
  const params = { org_id: String(auth.org.id) }
  return {
    ...auth,
    gateway,
    deactivate: () => auth.as({ caller, org: auth.org }).call(deactivateOrg, { params }),
    activate: (id = String(auth.org.id)) =>
      auth.as({ caller }).call(activateOrg, { params: { id } }),
    found: async () => (await ask(gateway, findOrg, { prefix: 'demo' })).org,
  }
}

test('a deactivated org is found again, and everybody is told', async (t) => {
  const { activate, deactivate, found, gateway, org, db } = await opened(t)
  assert.equal((await deactivate()).status, 200)
  assert.equal(await found(), null)
  const told: string[] = []
  gateway.nats.subscribe(changedSubject(changed.org, org.id), {
    callback: (_error, { subject }) => void told.push(subject),
  })
  await gateway.nats.flush()
  assert.deepEqual((await activate()).body, { activated: true })
  assert.equal((await found())?.id, org.id)
  await until(() => told.length === 1)
  const lines = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
  const last = lines.at(-1)?.payload as { action: string; actor_id: string; org_id: number }
  assert.deepEqual(
    [last.action, last.actor_id, last.org_id],
    ['auth.org.activated', people.superadmin.id, org.id],
  )
})

test('an active org is 409 and an unknown one 404', async (t) => {
  const { activate } = await opened(t)
  const active = await activate()
  assert.ok(active.status === 409 && active.body.code === 'org.active')
  const unknown = await activate('999999')
  assert.ok(unknown.status === 404 && unknown.body.code === 'org.not_found')
})

test('of ten who activate at once one does', async (t) => {
  const { activate, deactivate } = await opened(t)
  await deactivate()
  const replies = await Promise.all(Array.from({ length: 10 }, () => activate()))
  assert.equal(replies.filter(({ status }) => status === 200).length, 1)
  assert.equal(replies.filter(({ status }) => status === 409).length, 9)
})

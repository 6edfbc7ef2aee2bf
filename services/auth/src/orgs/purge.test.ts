import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { endPods, forgetOrgOf, purgeOrg, purgeOrgOf } from '@guildhall/contracts/orgs'
import { findSecrets, putSecret } from '@guildhall/contracts/secrets'
import { addOrg, deactivateOrg } from '@guildhall/contracts/superadmin'
import { createMachineToken } from '@guildhall/contracts/tokens'
import { people, servers } from '@guildhall/sandbox/demo'
import { AppError } from '@guildhall/service/errors'
import { callerOf, officer, testAuth } from '../testing.ts'

const superadmin = { kind: 'superadmin' as const, ...callerOf(people.superadmin) }
/** Each that keeps something of an org, written by hand. */
const OTHERS = [
  'knowledge',
  'ops',
  'compute',
  'agents',
  'mcp',
  'store',
  'calendar',
  'alerts',
] as const

/** A deactivated org with a secret and a token, and the other services over the broker. */
async function deactivated(t: Parameters<typeof busAs>[0]) {
  const auth = await testAuth(t)
  const { as, org, settings } = auth
  const asked: string[] = []
  const broken = new Set<string>()
  const pods = { left: [] as string[], keys: [] as (string | undefined)[] }
  for (const service of OTHERS) {
    const bus = await busAs(t, { url: settings.NATS_URL, peer: service })
    if (service === 'compute')
      answer(bus, endPods, async ({ org_id }) => {
        const args = { org_id, names: ['podhost_api_key'] }
        const { secrets } = await ask(bus, findSecrets('compute'), args)
        pods.keys.push(secrets.podhost_api_key)
        return { left: pods.left, reason: 'The pod host is away.' }
      })
    answer(bus, purgeOrgOf(service), async ({ org_id }) => {
      if (broken.has(service)) throw new AppError('unavailable', 'x.broken', 'it is broken')
      asked.push(`${service} ${org_id}`)
      return {}
    })
    answer(bus, forgetOrgOf(service), async ({ org_id }) => {
      if (broken.has(service)) throw new AppError('unavailable', 'x.broken', 'it is broken')
      asked.push(`${service} forgets ${org_id}`)
      return {}
    })
    await bus.nats.flush()
  }
  const params = { org_id: String(org.id) }
  const client = as({ caller: officer(), org })
  for (const name of ['app_x', 'podhost_api_key'])
    await client.call(putSecret, { params: { ...params, name }, body: { value: 'x' } })
  const body = { name: 'app', kind: 'app' as const, scopes: ['org:read' as const] }
  await client.call(createMachineToken, { params, body })
  const operator = await busAs(t, { url: settings.NATS_URL, peer: 'operator' })
  return {
    ...auth,
    asked,
    broken,
    pods,
    deactivate: () => as({ caller: superadmin, org }).call(deactivateOrg, { params }),
    purge: (prefix = 'demo', more = {}) => ask(operator, purgeOrg, { prefix, ...more }),
  }
}

test('a deactivation tells every service and names who did not hear it', async (t) => {
  const { deactivate, asked, broken, org } = await deactivated(t)
  broken.add('knowledge')
  const { status, body } = await deactivate()
  assert.deepEqual(
    [status, body],
    [
      200,
      {
        deactivated: true,
        acknowledged: OTHERS.filter((service) => service !== 'knowledge'),
        missing: [{ service: 'knowledge', reason: 'it is broken' }],
      },
    ],
  )
  const heard = OTHERS.filter((service) => service !== 'knowledge')
  assert.deepEqual(asked.sort(), heard.map((service) => `${service} forgets ${org.id}`).sort())
})

test('an active org is not purged, nor is one that never was', async (t) => {
  const { purge, asked } = await deactivated(t)
  await assert.rejects(purge(), { code: 'org.active' })
  await assert.rejects(purge('nobody'), { code: 'org.not_found' })
  assert.deepEqual(asked, [])
})

test('a purge deletes the org here and everywhere, and may be repeated', async (t) => {
  const { purge, deactivate, asked, db, org, as } = await deactivated(t)
  await deactivate()
  const all = {
    org_id: org.id,
    acknowledged: [...OTHERS],
    missing: [],
  }
  assert.deepEqual(await purge(), all)
  for (const table of ['orgs', 'secrets', 'machine_tokens'] as const)
    assert.deepEqual(await db.selectFrom(table).selectAll().execute(), [], table)
  assert.deepEqual(await Promise.all([purge(), purge()]), [all, all])
  assert.equal(asked.filter((line) => line === `knowledge ${org.id}`).length, 3)
  const lines = await db.selectFrom('outbox').select('payload').execute()
  const purges = lines.filter(
    ({ payload }) => 'action' in payload && payload.action === 'auth.org.purged',
  )
  assert.equal(purges.length, 1)

  // the chat server is free again, the prefix is not
  const client = as({ caller: superadmin })
  const wanted = { name: 'Demo Club', chat_server_id: servers.demo.id }
  const taken = await client.call(addOrg, { body: { ...wanted, prefix: 'demo' } })
  assert.ok(taken.status === 409 && taken.body.code === 'org.prefix_taken')
  assert.equal((await client.call(addOrg, { body: wanted })).status, 201)
  assert.deepEqual(await purge(), all, 'still the old one')
})

test('a service that does not acknowledge is named, and asked again', async (t) => {
  const { purge, deactivate, broken, org } = await deactivated(t)
  await deactivate()
  broken.add('knowledge')
  assert.deepEqual(await purge(), {
    org_id: org.id,
    acknowledged: OTHERS.filter((service) => service !== 'knowledge'),
    missing: [{ service: 'knowledge', reason: 'it is broken' }],
  })
  broken.clear()
  assert.deepEqual((await purge()).missing, [])
})

test('pods are ended while the key is still there; where some are left nothing is deleted', async (t) => {
  const { purge, deactivate, pods, asked, db } = await deactivated(t)
  await deactivate()
  asked.length = 0
  pods.left = ['pod-1 (abc)']
  await assert.rejects(purge(), {
    code: 'org.pods_left',
    message: /pod-1 \(abc\)\. The pod host is away\..*--leave-pods/,
  })
  assert.deepEqual([pods.keys, asked], [['x'], []])
  assert.equal((await db.selectFrom('secrets').selectAll().execute()).length, 2)
  assert.deepEqual((await purge('demo', { leave_pods: true })).missing, [])
  assert.deepEqual(await db.selectFrom('secrets').selectAll().execute(), [])
  assert.deepEqual((await purge()).missing, [])
  assert.deepEqual(pods.keys, ['x'], 'an org that is gone has no key to ask with')
})

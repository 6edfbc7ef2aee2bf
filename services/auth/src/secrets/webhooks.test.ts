import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import {
  findAlertWebhooks,
  removeAlertWebhook,
  storeAlertWebhook,
} from '@guildhall/contracts/alert-webhooks'
import { findSecrets, putSecret } from '@guildhall/contracts/secrets'
import type { AppError } from '@guildhall/service/errors'
import { officer, type TestAuth, testAuth } from '../testing.ts'

const URL_OF = (token: string) => `https://discord.com/api/webhooks/1/${token}`
const SECRET = 'very-secret-token-of-the-webhook'
const by = { source: 'http' as const, actor_kind: 'officer' as const, actor_id: '10001' }

/** What alerts asks auth. */
async function alertsOf(t: TestContext, { settings, org }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'alerts' })
  return {
    bus,
    store: (key: string, webhook_url = URL_OF(SECRET), org_id = org.id) =>
      ask(bus, storeAlertWebhook, { org_id, key, webhook_url, by }),
    remove: (key: string, org_id = org.id) => ask(bus, removeAlertWebhook, { org_id, key, by }),
    keys: async (org_id = org.id) => (await ask(bus, findAlertWebhooks, { org_id })).keys,
    read: async (key: string) => {
      const name = `alert_webhook_${key}`
      const args = { org_id: org.id, names: [name] }
      return (await ask(bus, findSecrets('alerts'), args)).secrets[name]
    },
  }
}

test('a webhook is kept, replaced and forgotten; both may be repeated, and other secrets are no webhooks', async (t) => {
  const auth = await testAuth(t)
  const { store, remove, keys, read } = await alertsOf(t, auth)
  const params = { org_id: String(auth.org.id), name: 'error_webhook_url' }
  const client = auth.as({ caller: officer(), org: auth.org })
  await client.call(putSecret, { params, body: { value: URL_OF('errors') } })
  assert.deepEqual(await keys(), [])

  await store('jobs')
  await store('jobs')
  await store('hackathons', URL_OF('other'))
  assert.deepEqual((await keys()).sort(), ['hackathons', 'jobs'])
  assert.equal(await read('jobs'), URL_OF(SECRET))
  await store('jobs', URL_OF('replaced'))
  assert.equal(await read('jobs'), URL_OF('replaced'))
  await remove('jobs')
  await remove('jobs')
  assert.deepEqual([await keys(), await read('jobs')], [['hackathons'], undefined])
})

test('what is told of a webhook is its name: sealed in its table, and in no audit line', async (t) => {
  const auth = await testAuth(t)
  const { store, remove } = await alertsOf(t, auth)
  await store('jobs')
  const { db } = auth
  const rows = await db.selectFrom('secrets').selectAll().execute()
  await remove('jobs')
  await remove('jobs') // nothing was there: no line
  const lines = await db.selectFrom('outbox').select('payload').execute()
  assert.ok(!JSON.stringify([rows, lines]).includes(SECRET))
  const told = lines.map(({ payload }) => payload as Record<string, unknown>)
  assert.deepEqual(
    told.map(({ action, actor_id, details }) => [action, actor_id, details]),
    [
      ['auth.secret.stored', by.actor_id, { name: 'alert_webhook_jobs' }],
      ['auth.secret.deleted', by.actor_id, { name: 'alert_webhook_jobs' }],
    ],
  )
})

test('of ten feeds that ask for the two hundredth secret of an org at once one keeps its webhook', async (t) => {
  const auth = await testAuth(t)
  const { store, keys } = await alertsOf(t, auth)
  const rest = { org_id: auth.org.id, sealed_value: 'x', updated_at: new Date(), updated_by: '1' }
  const rows = Array.from({ length: 199 }, (_, n) => ({ ...rest, name: `app_${n}` }))
  await auth.db.insertInto('secrets').values(rows).execute()
  const asked = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => store(`feed${n}`)))
  assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.equal((await keys()).length, 1)
})

test('an org that there is not, a text that is no URL and a deployment without SECRETS_KEY keep none; other services may not ask', async (t) => {
  const auth = await testAuth(t, { SECRETS_KEY: '' })
  const { store, remove, keys } = await alertsOf(t, auth)
  await assert.rejects(store('jobs', URL_OF(SECRET), 999), { kind: 'not_found' })
  await assert.rejects(store('jobs', SECRET), (error: AppError) => {
    return error.code === 'secret.value' && !error.message.includes(SECRET)
  })
  await assert.rejects(store('jobs'), { kind: 'unavailable', code: 'secrets_key.unset' })
  await remove('jobs', 999)
  assert.deepEqual([await keys(), await keys(999)], [[], []])
  const other = await busAs(t, { url: auth.settings.NATS_URL, peer: 'ops' })
  await assert.rejects(ask(other, findAlertWebhooks, { org_id: auth.org.id }))
})

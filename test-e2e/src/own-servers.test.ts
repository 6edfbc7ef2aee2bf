import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testBroker } from '@guildhall/bus/testing'
import { getName } from '@guildhall/contracts/auth'
import { people } from '@guildhall/sandbox/demo'
import { testStack } from './stack.ts'

test('DATABASE_URL and NATS_URL take the place of the embedded servers', async (t) => {
  const { url: NATS_URL } = await testBroker(t)
  const { as, children, signIn } = await testStack(t, { NATS_URL })
  assert.deepEqual(children(), { postgres: undefined, nats: undefined })
  const { access_token } = await signIn(people.officer)
  assert.equal((await as(access_token).call(getName, {})).status, 200)
})

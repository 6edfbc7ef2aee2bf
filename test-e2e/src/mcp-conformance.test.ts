import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conformance } from '@guildhall/mcp/testing-conformance'
import { people } from '@guildhall/sandbox/demo'
import { testStack } from './stack.ts'

test('the product passes every scenario of the protocol that needs no tools of the suite', async (t) => {
  const stack = await testStack(t)
  const { access_token } = await stack.signIn(people.officer)
  const { token } = await stack.machineToken(access_token, ['knowledge:read', 'org:read'])
  const { code, passed, said } = await conformance(t, {
    url: stack.url,
    baseline: 'product.yml',
    credential: () => ({ authorization: `Bearer ${token}` }),
  })
  assert.equal(code, 0, said)
  assert.deepEqual(passed, ['dns-rebinding-protection', 'ping', 'server-initialize', 'tools-list'])
})

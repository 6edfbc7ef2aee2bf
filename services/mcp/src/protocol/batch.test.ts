import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testMcp } from '../testing.ts'

const VERSIONS = [undefined, '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

test('a batch is refused in every version of the protocol, and none of its messages is heard', async (t) => {
  const { post, db } = await testMcp(t)
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'no.tool', arguments: {} },
  }
  for (const version of VERSIONS) {
    for (const batch of [[message], [message, { ...message, id: 2 }], []]) {
      const reply = await post(batch, version)
      const { error, id } = (await reply.json()) as { error: { code: number }; id: unknown }
      assert.deepEqual([reply.status, error.code, id], [400, -32_600, null], `${version}`)
    }
  }
  const noted = () => db.selectFrom('outbox').select('id').execute()
  assert.deepEqual(await noted(), [])
  assert.match(await (await post(message, '2025-11-25')).text(), /There is no such tool/)
  assert.equal((await noted()).length, 1)
})

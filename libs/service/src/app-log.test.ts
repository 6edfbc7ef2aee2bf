import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getHealth } from '@guildhall/contracts/ops'
import { createApp } from './app.ts'
import { callerKey } from './caller-token.ts'
import { createLog } from './log.ts'
import { clientAs } from './testing.ts'

const INTERNAL_KEY = '44'.repeat(32)

test('a line of a request has the id that the gateway gave it, once: strict readers refuse a key twice', async (t) => {
  const text: string[] = []
  const to = { write: (line: string) => void text.push(line) }
  const log = createLog('ops', { format: 'json', level: 'warn', to })
  const app = createApp({
    service: 'ops',
    log,
    callerKey: callerKey(INTERNAL_KEY, 'ops'),
    ready: {},
  })
  app.implement(getHealth, async () => {
    throw new Error('a fault')
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const caller = {
    kind: 'superadmin' as const,
    ...{ chat_user_id: '1', username: 'root', token_id: 't', expires_at: 4_000_000_000 },
  }
  const reply = await clientAs(url, INTERNAL_KEY, { caller, request_id: 'r-7' }).call(getHealth, {})
  assert.equal(reply.status, 500)
  assert.equal(text.length, 1)
  assert.deepEqual(text[0]?.match(/"reqId":"[^"]*"/g), ['"reqId":"r-7"'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog, TEST_INTERNAL_KEY } from '@guildhall/bus/testing'
import { createApp } from '@guildhall/service/app'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import { cleanUp } from '@guildhall/service/testing'
import { readConfig } from '../config.ts'
import { agentWith } from '../testing.ts'
import { conformance } from '../testing-conformance.ts'
import { mcpRoutes } from './routes.ts'
import { fixtureServer } from './testing-fixture.ts'

const PASSED = [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'json-schema-2020-12',
  'dns-rebinding-protection',
]

test('the transport passes what the protocol asks of tools, with a server of the suite behind it', async (t) => {
  const key = callerKey(TEST_INTERNAL_KEY, 'mcp')
  const app = createApp({ service: 'mcp', log: quietLog, callerKey: key, ready: {} })
  const DATABASE_URL = 'postgres://unused'
  const config = readConfig({
    DATABASE_URL,
    NATS_URL: 'nats://unused',
    INTERNAL_KEY: TEST_INTERNAL_KEY,
  })
  mcpRoutes(app, { config, log: quietLog }, fixtureServer)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  cleanUp(t, () => app.close())

  const identity = { ...agentWith(), request_id: 'test' }
  const { code, passed, said } = await conformance(t, {
    url,
    baseline: 'transport.yml',
    credential: ({ method = '', url: path = '' }) => ({
      [CALLER_HEADER]: signIdentity(identity, { service: 'mcp', method, path }, key),
    }),
  })
  assert.equal(code, 0, said)
  assert.deepEqual(passed, PASSED.toSorted())
})

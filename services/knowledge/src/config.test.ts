import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const needed = {
  INTERNAL_KEY: '0'.repeat(64),
  DATABASE_URL: 'postgres://localhost/x',
  NATS_URL: 'nats://localhost',
}

test('the two servers of the search are set together or not at all', () => {
  const [meili, qdrant] = ['http://meili:7700', 'http://qdrant:6333']
  assert.equal(readConfig(needed).MEILI_URL, undefined)
  const both = readConfig({ ...needed, MEILI_URL: meili, QDRANT_URL: qdrant })
  assert.deepEqual([both.MEILI_URL, both.QDRANT_URL], [meili, qdrant])
  for (const one of [{ MEILI_URL: meili }, { QDRANT_URL: qdrant }])
    assert.throws(
      () => readConfig({ ...needed, ...one }),
      /MEILI_URL and QDRANT_URL belong together/,
    )
})

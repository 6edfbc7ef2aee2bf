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

test('blocked networks are a list in CIDR notation', () => {
  const read = (list: string) => readConfig({ ...needed, KNOWLEDGE_BLOCKED_NETWORKS: list })
  assert.deepEqual(readConfig(needed).KNOWLEDGE_BLOCKED_NETWORKS, [])
  assert.deepEqual(read(' 192.0.2.0/24, 2001:db8::/32').KNOWLEDGE_BLOCKED_NETWORKS, [
    '192.0.2.0/24',
    '2001:db8::/32',
  ])
  const notRead = ['192.0.2.0', '192.0.2.0/33', 'own.test', '192.0.2.0/24;198.51.100.0/24']
  const otherwise = ['10/8', '0300.0.2.0/24', '0xc0.0.2.0/24', '::ffff:203.0.113.0/120']
  for (const bad of [...notRead, ...otherwise])
    assert.throws(() => read(bad), /KNOWLEDGE_BLOCKED_NETWORKS: needs networks as/)
})

test('addresses of packs are a list of pack, setting and URL', () => {
  const read = (list: string) => readConfig({ ...needed, PACK_SETTINGS: list }).PACK_SETTINGS
  assert.deepEqual(readConfig(needed).PACK_SETTINGS, [])
  assert.deepEqual(read('campus.news_url=https://n.test/?a=b, x.y=http://z.test'), [
    { pack: 'campus', name: 'news_url', value: 'https://n.test/?a=b' },
    { pack: 'x', name: 'y', value: 'http://z.test' },
  ])
  for (const bad of ['campus=https://a.test', 'a.b=ftp://a.test', 'a.b=https://a.test/{x}', 'a.b'])
    assert.throws(() => read(bad), /PACK_SETTINGS: needs <pack>\.<setting>=/)
})

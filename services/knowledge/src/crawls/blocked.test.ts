import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putSource } from '@guildhall/contracts/knowledge'
import type { Lookup } from '@guildhall/outbound/guarded'
import { until } from '@guildhall/service/testing'
import { body, member } from '../testing-bodies.ts'
import { crawling } from '../testing-crawls.ts'

/** `own.test` stands in a network that the operator blocks, all other names are of this host. */
const lookup: Lookup = (name, callback) =>
  callback(null, [{ address: name === 'own.test' ? '192.88.1.7' : '127.0.0.1', family: 4 }])

test("the networks that the operator blocks are refused to officers' embedders and renderers as well", async (t) => {
  const blocked = { KNOWLEDGE_BLOCKED_NETWORKS: '192.88.1.0/24' }
  const { put, crawled, as, setSecrets } = await crawling(t, blocked, { bounds: { lookup } })
  await put({})
  await setSecrets(1, {
    embeddings_url: 'http://own.test/v1',
    renderer_url: 'http://own.test/render',
  })
  const refused = await until(async () => {
    const reply = await as(member(1)).call(putSource, { params: { key: 'a' }, body: body('fox') })
    return reply.status === 502 && reply.body
  })
  assert.equal(refused.code, 'embeddings.not_allowed')
  assert.match(refused.error, /own\.test is not on the public internet$/)
  const { source } = await crawled()
  assert.match(
    source.crawl?.last_error ?? '',
    /^renderer: .*own\.test is not on the public internet$/,
  )
})

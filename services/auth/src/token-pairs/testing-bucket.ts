import type { TestContext } from 'node:test'
import { busAs } from '@guildhall/bus/testing'
import { REVOKED_BUCKET } from '@guildhall/contracts/auth'
import { cleanUp, until } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import type { TestAuth } from '../testing.ts'

/** The last revision of each key of the bucket, as a gateway sees it. */
export async function watchBucket(t: TestContext, { settings }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'gateway' })
  const seen = new Map<string, number>()
  // auth makes the bucket once it is connected, which may be after it is ready
  const entries = await until(async () => (await new Kvm(bus.js).open(REVOKED_BUCKET)).watch())
  cleanUp(t, async () => entries.stop())
  void (async () => {
    for await (const { key, revision } of entries) seen.set(key, revision)
  })()
  return seen
}

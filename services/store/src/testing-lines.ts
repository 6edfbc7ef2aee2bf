import type { TestContext } from 'node:test'
import { busAs } from '@guildhall/bus/testing'
import type { Identity } from '@guildhall/service/caller-token'
import { callerKey } from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { createLog } from '@guildhall/service/log'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import { buildApp } from './app.ts'
import { readConfig } from './config.ts'
import { testStore } from './testing.ts'

/** As `testStore`, asked by an app whose log a test can read; it sends no outbox. */
export async function loggedStore(t: Pick<TestContext, 'after'>, more: Env = {}) {
  const store = await testStore(t, more)
  const { db, settings } = store
  const config = readConfig(settings)
  const lines: string[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line).msg) }
  const log = createLog('store', { format: 'json', to })
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'store' })
  const key = callerKey(settings.INTERNAL_KEY, 'store')
  const deps = { db, bus, log, config, now: () => new Date() }
  const app = buildApp({ service: 'store', log, callerKey: key, ready: {} }, deps)
  cleanUp(t, () => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  lines.length = 0
  const as = (identity: Partial<Identity>) => clientAs(url, settings.INTERNAL_KEY, identity)
  return { ...store, as, lines }
}

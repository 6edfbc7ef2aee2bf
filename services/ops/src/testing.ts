import type { TestContext } from 'node:test'
import { quietLog, testSettings } from '@guildhall/bus/testing'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import type { Identity } from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

/** ops on its own database and broker. */
export async function testOps(
  t: Pick<TestContext, 'after'>,
  { env = {}, now }: { env?: Env; now?: () => Date } = {},
) {
  const settings = { ...(await testSettings(t, { ops: migrations })), ...env }
  const ops = await start(readConfig(settings), now)
  const url = roleUrl(settings.DATABASE_URL, 'ops', settings.INTERNAL_KEY)
  const db = openDb<Tables>({ url, schema: 'ops', log: quietLog })
  cleanUp(t, () => db.destroy())
  cleanUp(t, () => ops[Symbol.asyncDispose]())
  const as = (identity: Partial<Identity>) => clientAs(ops.url, settings.INTERNAL_KEY, identity)
  return { as, db, log: quietLog, settings, url: ops.url }
}

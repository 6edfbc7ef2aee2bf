import type { TestContext } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs, quietLog, testSettings } from '@guildhall/bus/testing'
import type { TokenLimits } from '@guildhall/contracts/tokens'
import { findToolAccess } from '@guildhall/contracts/tool'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import {
  CALLER_HEADER,
  callerKey,
  type Identity,
  signIdentity,
} from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

type Test = Pick<TestContext, 'after'>

/** mcp on its own database and broker. What the others would answer, tests answer as them, over NATS. */
export async function testMcp(t: Test, more: Env = {}) {
  const settings = { ...(await testSettings(t, { mcp: migrations })), ...more }
  const { DATABASE_URL, INTERNAL_KEY, NATS_URL: url } = settings
  const access = { connected: ['podhost'], limits: {} as TokenLimits | null }
  const auth = await busAs(t, { url, peer: 'auth' })
  answer(auth, findToolAccess, async () => access)
  await auth.nats.flush()
  const mcp = await start(readConfig(settings))
  cleanUp(t, () => mcp[Symbol.asyncDispose]())
  const db = openDb<Tables>({
    url: roleUrl(DATABASE_URL, 'mcp', INTERNAL_KEY),
    schema: 'mcp',
    log: quietLog,
  })
  cleanUp(t, () => db.destroy())
  const as = (identity: Partial<Identity>) => clientAs(mcp.url, INTERNAL_KEY, identity)
  const post = (body: unknown, version?: string) => postMcp(mcp.url, INTERNAL_KEY, body, version)
  return { as, db, access, auth, settings, post, url: mcp.url }
}

/** A message to /mcp as it stands, of a token with the scopes of `SPEAKER`. */
function postMcp(url: string, internalKey: string, body: unknown, version: string | undefined) {
  const target = { service: 'mcp' as const, method: 'POST', path: '/mcp' }
  const signed = signIdentity(SPEAKER, target, callerKey(internalKey, 'mcp'))
  const headers = {
    [CALLER_HEADER]: signed,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(version && { 'mcp-protocol-version': version }),
  }
  return fetch(`${url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** A machine token of org 1 with these scopes, every module on. */
export const agentWith = (...scopes: string[]) => ({
  caller: {
    kind: 'machine' as const,
    token_id: '01890000-0000-7000-8000-00000000000a',
    token_kind: 'agent' as const,
    name: 'helper',
    scopes,
  },
  org: {
    id: 1,
    prefix: 'org1',
    name: 'Org 1',
    modules: ['knowledge', 'compute', 'apps'],
    publisher: false,
  },
})

const SPEAKER = {
  ...agentWith('org:read', 'knowledge:read', 'knowledge:write'),
  request_id: 'test',
}

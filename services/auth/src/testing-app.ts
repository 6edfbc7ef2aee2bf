import { busAs, quietLog, TEST_INTERNAL_KEY } from '@guildhall/bus/testing'
import { createSealer } from '@guildhall/outbound/sealed'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import { createLog } from '@guildhall/service/log'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import { createAccess } from './access/decide.ts'
import { buildApp } from './app.ts'
import { createChat } from './clients/chat.ts'
import { createGuildLists } from './clients/guild-lists.ts'
import { createIdentities } from './clients/identity.ts'
import { readConfig } from './config.ts'
import { testAuth } from './testing.ts'
import { openSigner } from './token-pairs/signer.ts'

const key = callerKey(TEST_INTERNAL_KEY, 'auth')

/** The app of auth with a log and a bus of its own, which a test can read; it sends no outbox. */
export async function loggedAuth(t: Parameters<typeof testAuth>[0]) {
  const auth = await testAuth(t)
  const { db, settings, org } = auth
  const config = readConfig(settings)
  const lines: string[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line).msg) }
  const log = createLog('auth', { format: 'json', to })
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  const now = () => new Date(Date.now() + auth.clock.ahead)
  const client = createChat(config)
  const chat = { ...client, ...createGuildLists(client) }
  const access = createAccess({ chat, superadmins: [], now })
  const sealer = createSealer(config.SECRET_KEY, 'auth.signing_keys')
  const signer = await openSigner(db, sealer, quietLog)
  const identities = createIdentities(config, now)
  const deps = { db, bus, log, config, chat, access, identities, signer, now }
  const app = buildApp({ service: 'auth', log, callerKey: key, ready: {} }, deps)
  cleanUp(t, () => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  lines.length = 0
  /** As the gateway would, for somebody whom it does not know. */
  async function visit(path: string, cookie = '') {
    const target = { service: 'auth' as const, method: 'GET', path }
    const identity = { caller: { kind: 'public' as const }, org, request_id: 'test' }
    const headers = { cookie, [CALLER_HEADER]: signIdentity(identity, target, key) }
    return fetch(url + path, { redirect: 'manual', headers })
  }
  const as = (identity: Parameters<typeof auth.as>[0]) => clientAs(url, TEST_INTERNAL_KEY, identity)
  return { ...auth, url, as, visit, lines, bus, signer }
}

export type LoggedAuth = Awaited<ReturnType<typeof loggedAuth>>

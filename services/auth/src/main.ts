import { openService } from '@guildhall/bus/open-service'
import { createSealer } from '@guildhall/outbound/sealed'
import { type Running, runProcess } from '@guildhall/service/run'
import { createAccess } from './access/decide.ts'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { createChat } from './clients/chat.ts'
import { createGuildLists } from './clients/guild-lists.ts'
import { createIdentities } from './clients/identity.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { jobHandlers } from './jobs.ts'
import { keepRevokedBucket } from './token-pairs/bucket.ts'
import { openSigner } from './token-pairs/signer.ts'

/** Starts auth: sign-in, tokens, orgs and access decisions. */
export async function start(config: Config, now = () => new Date()): Promise<Running> {
  const { AUTH_PORT: PORT, AUTH_DATABASE_URL: OWN_DATABASE_URL } = config
  await using opened = await openService<Tables>(
    'auth',
    { ...config, PORT, OWN_DATABASE_URL },
    migrations,
  )
  const { db, bus, log } = opened
  const client = createChat(config)
  const chat = { ...client, ...createGuildLists(client) }
  const superadmins = config.SYS_ADMIN?.split(',').map((id) => id.trim()) ?? []
  const access = createAccess({ chat, superadmins, now })
  const signer = await openSigner(db, createSealer(config.SECRET_KEY, 'auth.signing_keys'), log)
  const identities = createIdentities(config, now)
  const deps: Deps = { db, bus, log, config, chat, access, identities, signer, now }
  keepRevokedBucket(deps, opened.signal)
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps))
}

if (import.meta.main) await runProcess('auth', () => start(readConfig()))

import { openService } from '@guildhall/bus/open-service'
import { createSealer } from '@guildhall/outbound/sealed'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { createKeyOf } from './clients/org-secrets.ts'
import { createPodHost } from './clients/podhost.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { createHostKeys } from './host-keys/pin.ts'
import { jobHandlers } from './jobs.ts'
import { SEALED_USE } from './keys/keys.ts'
import { createLive } from './pods/live.ts'

/** Starts compute: pods, certificates, files, sessions and apps. */
export async function start(config: Config, now = () => new Date()): Promise<Running> {
  const { COMPUTE_PORT: PORT, COMPUTE_DATABASE_URL: OWN_DATABASE_URL } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  await using opened = await openService<Tables>('compute', common, migrations)
  const { db, bus, log } = opened
  const { PODHOST_API_URL: url, PODHOST_TIMEOUT_MS: timeoutMs } = config
  const podhost = createPodHost({ url, timeoutMs, keyOf: createKeyOf(bus) })
  const live = createLive(podhost, log)
  const hostKeys = createHostKeys({ db, config })
  const sealer = createSealer(config.SECRETS_KEY, SEALED_USE)
  const deps: Deps = { db, bus, log, config, podhost, live, hostKeys, sealer, now }
  answerCalls(deps)
  return await opened.serve(buildApp(opened, deps), jobHandlers(deps))
}

if (import.meta.main) await runProcess('compute', () => start(readConfig()))

import { connectBus } from '@guildhall/bus/connect'
import { createErrorEvents } from '@guildhall/bus/error-events'
import { services } from '@guildhall/contracts/names'
import { callerKey } from '@guildhall/service/caller-token'
import { createLog } from '@guildhall/service/log'
import { addProbes } from '@guildhall/service/probes'
import { type Running, runProcess } from '@guildhall/service/run'
import Fastify from 'fastify'
import { createAccessChecks } from './access-checks.ts'
import { createAdmit } from './admit.ts'
import { buildGateway } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { createDirectory } from './directory.ts'
import { createPlatformTokens } from './platform-tokens.ts'
import { watchRevocations } from './revocations.ts'

/** Starts the gateway: the one public process. It keeps nothing. */
export async function start(config: Config): Promise<Running> {
  const { INTERNAL_KEY: internalKey, NATS_URL: url, HOST: host, ACCESS_ENFORCE: enforce } = config
  const errors = createErrorEvents()
  const log = createLog('gateway', {
    format: config.LOG_FORMAT,
    level: config.LOG_LEVEL,
    errors: errors.stream,
  })
  if (!enforce) log.warn('ACCESS_ENFORCE is off: what access checks deny is only logged')
  const bus = await connectBus({ peer: 'gateway', url, internalKey, log })
  const ending = new AbortController()
  errors.attach(bus, ending.signal)
  const revocations = watchRevocations(bus)
  const platformTokens = createPlatformTokens(bus, revocations)
  const directory = createDirectory(bus)
  const accessChecks = createAccessChecks({ directory, enforce, log })
  const urls = { auth: config.AUTH_URL, knowledge: config.KNOWLEDGE_URL, ops: config.OPS_URL }
  const targets = services.map((name) => [
    name,
    { url: new URL(urls[name]), key: callerKey(internalKey, name) },
  ])
  const ready = {
    nats: async () => (bus.nats.isClosed() ? 'not connected' : undefined),
    revocations: async () =>
      revocations.isWatching() ? undefined : 'the revoked tokens are not read yet',
  }
  const app = buildGateway({
    config,
    log,
    admit: createAdmit({ directory, platformTokens, accessChecks }),
    services: Object.fromEntries(targets),
    ready,
  })
  const admin = Fastify()
  addProbes(admin, ready)
  await admin.listen({ host: '127.0.0.1', port: config.ADMIN_PORT })
  const address = await app.listen({ host, port: config.PORT })

  async function close() {
    await app.close()
    await admin.close()
    ending.abort()
    await bus[Symbol.asyncDispose]()
  }
  return { url: address, [Symbol.asyncDispose]: close }
}

if (import.meta.main) await runProcess('gateway', () => start(readConfig()))

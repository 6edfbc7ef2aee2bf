import type { KeyObject } from 'node:crypto'
import { connectBus } from '@guildhall/bus/connect'
import { createErrorEvents } from '@guildhall/bus/error-events'
import { sendLastWords } from '@guildhall/bus/last-words'
import { type Service, services } from '@guildhall/contracts/names'
import { routes } from '@guildhall/contracts/routes'
import { callerKey } from '@guildhall/service/caller-token'
import { withoutEffect } from '@guildhall/service/config'
import { createLog } from '@guildhall/service/log'
import { addProbes } from '@guildhall/service/probes'
import { type Running, runProcess } from '@guildhall/service/run'
import { openTracker } from '@guildhall/service/tracker'
import Fastify from 'fastify'
import { createAccessChecks } from './access-checks.ts'
import { createAdmit } from './admit.ts'
import { buildGateway, type Deps } from './app.ts'
import { type Config, readConfig, urlOf } from './config.ts'
import { createDirectory } from './directory.ts'
import { createPlatformTokens } from './platform-tokens.ts'
import { watchRevocations } from './revocations.ts'

/** Starts the gateway: the one public process. It keeps nothing. Tests offer routes of their own. */
export async function start(config: Config, offered: Deps['routes'] = routes): Promise<Running> {
  const { INTERNAL_KEY: internalKey, NATS_URL: url, HOST: host, ACCESS_ENFORCE: enforce } = config
  const errors = createErrorEvents()
  await using opening = new AsyncDisposableStack()
  const tracker = await openTracker('gateway', config)
  opening.use(tracker)
  const log = createLog('gateway', {
    tracker,
    format: config.LOG_FORMAT,
    level: config.LOG_LEVEL,
    errors: errors.stream,
  })
  sendLastWords({ peer: 'gateway', url, internalKey, log, errors, tracker })
  for (const warning of withoutEffect(config)) log.warn(warning)
  if (!enforce) log.warn('ACCESS_ENFORCE is off: what access checks deny is only logged')
  const bus = opening.use(await connectBus({ peer: 'gateway', url, internalKey, log }))
  opening.use(errors.attach(bus)) // closed after all that may log
  const ending = new AbortController()
  opening.defer(async () => ending.abort())
  const revocations = watchRevocations(bus, ending.signal)
  const platformTokens = createPlatformTokens(bus, revocations, ending.signal)
  const directory = createDirectory(bus, revocations)
  const accessChecks = createAccessChecks({ directory, enforce, log })
  const ready = {
    nats: async () => void (await bus.nats.rtt()),
    revocations: async () =>
      revocations.hears() ? undefined : 'the revoked tokens are not read yet',
  }
  const admin = Fastify()
  opening.defer(() => admin.close())
  addProbes(admin, ready)
  await admin.listen({ host: '127.0.0.1', port: config.ADMIN_PORT })
  const app = buildGateway({
    config,
    log,
    admit: createAdmit({ directory, platformTokens, accessChecks }),
    services: targetsOf(config),
    routes: offered,
    ready,
  })
  opening.defer(() => app.close())
  const address = await app.listen({ host, port: config.PORT })
  const all = opening.move()
  return { url: address, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

/** Where each service listens, and the key that the gateway shares with it alone. */
function targetsOf(config: Config) {
  const targets = services.map((service) => [
    service,
    { url: new URL(config[urlOf(service)]), key: callerKey(config.INTERNAL_KEY, service) },
  ])
  return Object.fromEntries(targets) as Record<Service, { url: URL; key: KeyObject }>
}

if (import.meta.main) await runProcess('gateway', () => start(readConfig()))

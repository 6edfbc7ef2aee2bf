import { changed } from '@guildhall/contracts/event'
import type { Service } from '@guildhall/contracts/names'
import { readinessOf } from '@guildhall/contracts/ops'
import { forgetOrgOf } from '@guildhall/contracts/orgs'
import { migrateUp } from '@guildhall/db/migrate'
import { type Db, openDb } from '@guildhall/db/open'
import { isRoleUrl, provision, roleUrl } from '@guildhall/db/provision'
import type { App } from '@guildhall/service/app'
import { callerKey } from '@guildhall/service/caller-token'
import { type commonSettings, type listenSettings, withoutEffect } from '@guildhall/service/config'
import { createLog, type Log } from '@guildhall/service/log'
import { missingParts, type Readiness } from '@guildhall/service/probes'
import type { Running } from '@guildhall/service/run'
import { openTracker } from '@guildhall/service/tracker'
import { type Kysely, sql } from 'kysely'
import type { z } from 'zod'
import { answerBotCommands } from './bot-commands.ts'
import { answer } from './calls.ts'
import { dropChanged } from './changed.ts'
import { type Bus, connectBus } from './connect.ts'
import { createErrorEvents } from './error-events.ts'
import { type JobHandler, runJobs } from './jobs.ts'
import { sendLastWords } from './last-words.ts'
import { relay } from './relay.ts'
import { type BusTables, busMigrations } from './tables.ts'
import { answerTools } from './tools.ts'

export type ServiceConfig = z.output<z.ZodObject<typeof commonSettings & typeof listenSettings>> & {
  /** The port to listen on; 0 takes a free one. */
  PORT: number
  /** The service's own URL of its schema, where the operator made the role. */
  OWN_DATABASE_URL?: string | undefined
}

/** What every service opens before it can do anything. */
export interface Opened<T extends BusTables> extends AsyncDisposable {
  service: Service
  log: Log
  db: Db<T>
  /** The URL by which `db` reaches the service's own schema. */
  databaseUrl: string
  bus: Bus
  callerKey: ReturnType<typeof callerKey>
  ready: Readiness
  /** Aborts when the service is about to close. */
  signal: AbortSignal
  /** Closes what the service opened besides, after its requests and jobs are done; the last opened first. */
  onClose(work: () => PromiseLike<unknown>): void
  /**
   * Runs the app, the jobs and the outbox until the service is closed. `further` work must end when
   * `signal` aborts, and is waited for.
   */
  serve(app: App, handlers: JobHandler[], further?: Promise<void>[]): Promise<Running>
}

/**
 * Opens a service's log, schema (made and migrated) and bus. Hold it with `await using`: until it serves, a
 * later fault at start closes it again.
 */
export async function openService<T extends BusTables>(
  service: Service,
  config: ServiceConfig,
  migrations: string,
): Promise<Opened<T>> {
  const errors = createErrorEvents()
  await using opening = new AsyncDisposableStack()
  const tracker = await openTracker(service, config)
  opening.use(tracker)
  const log = createLog(service, {
    tracker,
    format: config.LOG_FORMAT,
    level: config.LOG_LEVEL,
    errors: errors.stream,
  })
  const { NATS_URL, INTERNAL_KEY: internalKey } = config
  sendLastWords({ peer: service, url: NATS_URL, internalKey, log, errors, tracker })
  for (const warning of withoutEffect(config)) log.warn(warning)
  const url = await openSchema(service, config, migrations)
  const db = openDb<T>({ url, schema: service, log })
  opening.defer(() => db.destroy())
  const bus = opening.use(await connectBus({ peer: service, url: NATS_URL, internalKey, log }))
  opening.use(errors.attach(bus)) // closed after all that may log
  const ending = new AbortController()
  const ready = { postgres: () => pingDatabase(db), nats: () => pingNats(bus) }
  const parts = opening.move()
  let serving = false
  return {
    service,
    log,
    db,
    databaseUrl: url,
    bus,
    callerKey: callerKey(internalKey, service),
    ready,
    signal: ending.signal,
    onClose: (work) => parts.defer(async () => void (await work())),
    async serve(app, handlers, further = []) {
      const address = await app.listen({ host: config.HOST, port: config.PORT })
      serving = true
      answerFrameCalls(service, bus, ready)
      const frame = { service, bus, callerKey: callerKey(internalKey, service) }
      answerTools(frame, app)
      answerBotCommands(frame, app)
      const jobs = runJobs(bus, db, handlers, ending.signal)
      await bus.nats.flush() // from here on every call is heard
      const sending = relay(bus, db, ending.signal)
      async function close() {
        await app.close()
        ending.abort()
        await Promise.all([jobs, sending, ...further])
        await parts.disposeAsync()
      }
      return { url: address, [Symbol.asyncDispose]: close }
    },
    /** Once it serves, only what `serve` answered closes it. */
    async [Symbol.asyncDispose]() {
      if (serving) return
      ending.abort()
      await parts.disposeAsync()
    },
  }
}

/** What every service answers alike. */
function answerFrameCalls(service: Service, bus: Bus, ready: Readiness) {
  if (service !== 'ops')
    answer(bus, readinessOf(service), async () => ({ missing: await missingParts(ready) }))
  if (service !== 'auth')
    answer(bus, forgetOrgOf(service), async ({ org_id }) => {
      dropChanged(bus, changed.org, org_id)
      return {}
    })
}

async function openSchema(service: Service, config: ServiceConfig, migrations: string) {
  const { DATABASE_URL, INTERNAL_KEY, OWN_DATABASE_URL } = config
  const own = isRoleUrl(DATABASE_URL, service) ? DATABASE_URL : OWN_DATABASE_URL
  if (!own) await provision(DATABASE_URL, service, INTERNAL_KEY, { newKey: 'accepted' })
  const url = own ?? roleUrl(DATABASE_URL, service, INTERNAL_KEY)
  await migrateUp({ url, schema: service, folders: [busMigrations, migrations] })
  return url
}

async function pingDatabase<T>(db: Kysely<T>) {
  await sql`select 1`.execute(db)
  return undefined
}

async function pingNats(bus: Bus) {
  await bus.nats.rtt()
  return undefined
}

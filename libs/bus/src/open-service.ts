import type { Service } from '@guildhall/contracts/names'
import { migrateUp } from '@guildhall/db/migrate'
import { type Db, openDb } from '@guildhall/db/open'
import { provision, roleUrl } from '@guildhall/db/provision'
import type { App } from '@guildhall/service/app'
import { callerKey } from '@guildhall/service/caller-token'
import type { commonSettings, listenSettings } from '@guildhall/service/config'
import { createLog, type Log } from '@guildhall/service/log'
import type { Readiness } from '@guildhall/service/probes'
import type { Running } from '@guildhall/service/run'
import { type Kysely, sql } from 'kysely'
import type { z } from 'zod'
import { type Bus, connectBus } from './connect.ts'
import { createErrorEvents } from './error-events.ts'
import { type JobHandler, runJobs } from './jobs.ts'
import { relay } from './outbox.ts'
import { type BusTables, busMigrations } from './tables.ts'

export type ServiceConfig = z.output<z.ZodObject<typeof commonSettings & typeof listenSettings>> & {
  /** The port to listen on; 0 takes a free one. */
  PORT: number
  /** The service's own URL of its schema, where the operator made the role. */
  OWN_DATABASE_URL?: string | undefined
}

/** What every service opens before it can do anything. */
export interface Opened<T extends BusTables> {
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
  /**
   * Runs the app, the jobs and the outbox until the service is closed. `further` work must end when
   * `signal` aborts, and is waited for.
   */
  serve(app: App, handlers: JobHandler[], further?: Promise<void>[]): Promise<Running>
}

/** Opens a service's log, schema (made and migrated), bus and outbox. Whatever fails is closed again. */
export async function openService<T extends BusTables>(
  service: Service,
  config: ServiceConfig,
  migrations: string,
): Promise<Opened<T>> {
  const errors = createErrorEvents()
  const log = createLog(service, {
    format: config.LOG_FORMAT,
    level: config.LOG_LEVEL,
    errors: errors.stream,
  })
  const url = await openSchema(service, config, migrations)
  await using opening = new AsyncDisposableStack()
  const db = openDb<T>({ url, schema: service, log })
  opening.defer(() => db.destroy())
  const bus = opening.use(
    await connectBus({
      peer: service,
      url: config.NATS_URL,
      internalKey: config.INTERNAL_KEY,
      log,
    }),
  )
  const ending = new AbortController()
  errors.attach(bus, ending.signal)
  const opened = opening.move()
  return {
    service,
    log,
    db,
    databaseUrl: url,
    bus,
    callerKey: callerKey(config.INTERNAL_KEY, service),
    ready: { postgres: () => pingDatabase(db), nats: () => pingNats(bus) },
    signal: ending.signal,
    async serve(app, handlers, further = []) {
      const url = await app.listen({ host: config.HOST, port: config.PORT })
      const jobs = runJobs(bus, db, handlers, ending.signal)
      const sending = relay(bus, db, ending.signal)
      async function close() {
        await app.close()
        ending.abort()
        await Promise.all([jobs, sending, ...further])
        await opened.disposeAsync()
      }
      return { url, [Symbol.asyncDispose]: close }
    },
  }
}

async function openSchema(service: Service, config: ServiceConfig, migrations: string) {
  const { DATABASE_URL, INTERNAL_KEY, OWN_DATABASE_URL } = config
  if (!OWN_DATABASE_URL) await provision(DATABASE_URL, service, INTERNAL_KEY)
  const url = OWN_DATABASE_URL ?? roleUrl(DATABASE_URL, service, INTERNAL_KEY)
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

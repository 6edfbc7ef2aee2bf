import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '@guildhall/service/log'
import { Client } from 'pg'

const RETRY_MS = 500
const SAY_AFTER_MS = 10_000

/**
 * Waits for an advisory lock that one process in the whole deployment may hold, and holds it on a
 * connection of its own until closed. A lost connection is made again, and the lock with it.
 * `why` is told in the log when another process holds it for long.
 */
export async function holdLock(options: { url: string; name: string; why: string; log: Log }) {
  const { log, name } = options
  const closing = new AbortController()
  let client = await take(options, closing.signal)
  watch(client)

  function watch(held: Client) {
    held.once('error', async (error) => {
      if (closing.signal.aborted) return
      log.warn({ err: error }, `Lost the connection that holds the lock ${name}; taking it again`)
      client = await take(options, closing.signal)
      watch(client)
    })
  }
  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      await client.end().catch((error) => log.debug({ err: error }, 'The lock was gone already'))
    },
  }
}

async function take(
  { url, name, why, log }: Parameters<typeof holdLock>[0],
  signal: AbortSignal,
): Promise<Client> {
  const began = Date.now()
  let said = false
  for (;;) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => log.debug(`The connection for the lock ${name} broke`))
    try {
      await client.connect()
      const { rows } = await client.query<{ got: boolean }>(
        `select pg_try_advisory_lock(hashtext($1)) as got`,
        [name],
      )
      if (rows[0]?.got) return client
    } catch (error) {
      log.debug({ err: error }, `Cannot ask for the lock ${name}`)
    }
    await client.end().catch((error) => log.debug({ err: error }, 'Not connected'))
    if (signal.aborted) return client
    if (!said && Date.now() - began > SAY_AFTER_MS) {
      said = true
      log.warn(`Waiting for the lock ${name}: ${why}`)
    }
    await wait(RETRY_MS, undefined, { signal }).catch(() => {})
  }
}

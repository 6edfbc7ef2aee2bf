import { findTestNats } from '@guildhall/bus/testing'
import { startTestPostgres, TEST_POSTGRES_URL } from '@guildhall/db/testing'

let stop: () => Promise<void>

/** Once for the whole run (`node --test --test-global-setup`): one Postgres that every test makes its databases on. */
export async function globalSetup() {
  const [postgres] = await Promise.all([startTestPostgres(), findTestNats()])
  process.env[TEST_POSTGRES_URL] = postgres.url
  stop = postgres.stop
}

export const globalTeardown = () => stop()

import { findNatsServer } from '@guildhall/bus/embedded'
import { quietLog } from '@guildhall/bus/testing'
import { startTestPostgres, TEST_POSTGRES_URL } from '@guildhall/db/testing'
import { homeOf } from './home.ts'

let stop: () => Promise<void>

/** Once for the whole run (`node --test --test-global-setup`): one Postgres that every test makes its databases on. */
export async function globalSetup() {
  const [postgres] = await Promise.all([
    startTestPostgres(),
    findNatsServer({ home: homeOf({}), log: quietLog, env: process.env }),
  ])
  process.env[TEST_POSTGRES_URL] = postgres.url
  stop = postgres.stop
}

export const globalTeardown = () => stop()

import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findTestNats } from '@guildhall/bus/testing'
import { startTestPostgres, TEST_POSTGRES_URL } from '@guildhall/db/testing'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 4e9

let stop: () => Promise<void>

/**
 * Once for the whole run (`node --test --test-global-setup`): one folder for all that tests write, and one Postgres
 * that every test makes its databases on.
 */
export async function globalSetup() {
  const folder = await memoryFolder()
  if (folder) process.env.TMPDIR = folder
  const [postgres] = await Promise.all([startTestPostgres(), findTestNats()])
  process.env[TEST_POSTGRES_URL] = postgres.url
  stop = async () => {
    await postgres.stop()
    if (folder) await rm(folder, { recursive: true, force: true })
  }
  // the runner's forced exit does not wait for `stop`
  if (folder)
    process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
}

export const globalTeardown = () => stop()

/**
 * A folder in memory, where the system has one with room that programs may be run from: a database is some 300 files,
 * a pod some hundreds, and a disk takes as long to make them as the tests take to use them.
 */
async function memoryFolder(): Promise<string | undefined> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 })) // not every system has it
  if (bavail * bsize < ROOM_BYTES) return undefined
  const folder = await mkdtemp(join(MEMORY, 'guildhall-'))
  const program = join(folder, 'runs')
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 })
  try {
    await promisify(execFile)(program)
    return folder
  } catch {
    await rm(folder, { recursive: true }) // mounted as noexec
    return undefined
  }
}

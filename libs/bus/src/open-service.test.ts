import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '@guildhall/db/testing'
import { createApp } from '@guildhall/service/app'
import { commonSettings, readSettings } from '@guildhall/service/config'
import { cleanUp } from '@guildhall/service/testing'
import { z } from 'zod'
import { openService } from './open-service.ts'
import { ensureStreams } from './streams.ts'
import { busAs, TEST_INTERNAL_KEY, testBroker } from './testing.ts'

test('what is logged while a service closes is in the stream of errors once it has', async (t) => {
  const [DATABASE_URL, { url: NATS_URL }] = await Promise.all([testDatabase(t), testBroker(t)])
  const ops = await busAs(t, { url: NATS_URL, peer: 'ops' })
  await ensureStreams(ops.jsm)
  const migrations = await mkdtemp(join(tmpdir(), 'guildhall-test-migrations-'))
  cleanUp(t, () => rm(migrations, { recursive: true }))
  const env = { DATABASE_URL, NATS_URL, INTERNAL_KEY: TEST_INTERNAL_KEY, LOG_LEVEL: 'error' }
  const config = readSettings(z.object(commonSettings), env)
  await using opened = await openService(
    'store',
    { ...config, HOST: '127.0.0.1', PORT: 0 },
    migrations,
  )
  const { log, signal } = opened
  opened.onClose(async () => log.error('while it closes what it opened'))
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  const running = await opened.serve(
    createApp(opened),
    [],
    [ended.then(() => log.error('while its work ends'))],
  )
  await running[Symbol.asyncDispose]()
  const { messages } = (await ops.jsm.streams.info('ERRORS')).state
  assert.equal(messages, 2)
})

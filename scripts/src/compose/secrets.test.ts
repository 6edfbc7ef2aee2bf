import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { findTestNats } from '@guildhall/bus/testing'
import { services } from '@guildhall/contracts/names'
import { cleanUp } from '@guildhall/service/testing'
import { natsConf } from './nats-conf.ts'
import { makeSecrets } from './secrets.ts'

async function secretsOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-secrets-'))
  cleanUp(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755) // as git checks deploy/secrets out
  await makeSecrets(folder)
  return folder
}

test('setup makes what is missing, keeps what is there, and opens the folder to nobody else', async (t) => {
  const folder = await secretsOf(t)
  const key = await readFile(join(folder, 'internal_key'), 'utf8')
  assert.match(
    await readFile(join(folder, 'database_url'), 'utf8'),
    /^postgres:\/\/guildhall:\w{64}@postgres:5432\//,
  )
  assert.equal((await stat(folder)).mode & 0o777, 0o700)
  await rm(join(folder, 'bot_token'))
  assert.deepEqual(await makeSecrets(folder), ['bot_token'])
  assert.equal(await readFile(join(folder, 'internal_key'), 'utf8'), key)
})

test('a database_url that is none is refused without its password, and nothing is written', async (t) => {
  const folder = await secretsOf(t)
  await writeFile(join(folder, 'database_url'), 'postgres://u:hunter#2@db/guildhall')
  const before = await readFile(join(folder, 'store_database_url'), 'utf8')
  const setup = new URL('secrets.ts', import.meta.url).pathname
  const ran = promisify(execFile)(process.execPath, [setup, folder])
  await assert.rejects(ran, { stderr: /^database_url: is no URL; [^\n]*\n$/ })
  assert.equal(await readFile(join(folder, 'store_database_url'), 'utf8'), before)
})

test('what follows from a key follows it when it changes', async (t) => {
  const folder = await secretsOf(t)
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const [key, url] = [await read('store_internal_key'), await read('store_database_url')]
  assert.match(key, /^own-store-/)
  assert.match(url, /^postgres:\/\/guildhall_store:[\w-]{32}@postgres:5432\//)
  await writeFile(join(folder, 'internal_key'), '22'.repeat(32))
  const made = await makeSecrets(folder)
  assert.equal(made.length, 2 * services.length)
  assert.notEqual(await read('store_internal_key'), key)
  assert.notEqual(await read('store_database_url'), url)
})

test('nats-server takes the configuration that is made for it, with a user for each service', async (t) => {
  const conf = join(await secretsOf(t), 'nats.conf')
  await writeFile(conf, natsConf('11'.repeat(32)))
  const { stderr } = await promisify(execFile)(await findTestNats(), ['-t', '-c', conf])
  assert.match(stderr, /configuration file .* is valid/)
  for (const service of services)
    assert.match(
      await readFile(conf, 'utf8'),
      new RegExp(`user: "${service}", password: "\\S{32}"`),
    )
})

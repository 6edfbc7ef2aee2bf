import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { migratedDatabase, TEST_INTERNAL_KEY, testEnvironment } from '@guildhall/bus/testing'
import { listMemories } from '@guildhall/contracts/agent-memories'
import { getName } from '@guildhall/contracts/auth'
import { putSource, search } from '@guildhall/contracts/knowledge'
import { createProduct } from '@guildhall/contracts/store-products'
import { testDatabase } from '@guildhall/db/testing'
import { people } from '@guildhall/sandbox/demo'
import { PROGRAMS } from '@guildhall/sandbox/testing'
import { startStack } from '@guildhall/scripts/stack'
import { cleanUp, until } from '@guildhall/service/testing'
import { allRows, allStructure } from './all-rows.ts'
import { fillStack, SEALED_MEMORY, sourceOf } from './filled-stack.ts'
import { clientOf, signIn } from './people.ts'
import { operatorAt } from './run-operator.ts'
import { migrations, testStack } from './stack.ts'

const run = promisify(execFile)
/** Tables that the journeys of `fillStack` leave rows in, at least. */
const LEAST_FILLED = 45
const PASSPHRASE = 'correct horse battery staple'

async function folderOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-backup-'))
  cleanUp(t, () => rm(folder, { recursive: true, force: true }))
  const passphrase = join(folder, 'passphrase')
  await writeFile(passphrase, `${PASSPHRASE}\n`)
  return {
    folder,
    file: join(folder, 'club.tar.gz'),
    keys: ['--with-keys', '--passphrase-file', passphrase],
  }
}

/** The operator of a deployment that is not there yet: an empty database and a new folder. */
async function emptyDeployment(t: TestContext, folder: string, more = {}) {
  const [home, DATABASE_URL] = [await mkdtemp(join(folder, 'home-')), await testDatabase(t)]
  const settings = { ...(await testEnvironment()), DATABASE_URL, ...more }
  return { home, DATABASE_URL, operator: operatorAt({ home, settings }) }
}

/** As it was, but for what a restore puts right: what is to be sent again, and the index to be made. */
function asRestored(rows: Record<string, string[]>) {
  const pairs = Object.entries(rows).map(([name, list]) => {
    if (name === 'knowledge.search_index') return [name, []]
    if (!name.endsWith('.outbox')) return [name, list]
    const unsent = list.map((row) =>
      JSON.stringify({ ...JSON.parse(row), sent_at: null, stream_seq: null }),
    )
    return [name, unsent.sort()]
  })
  return Object.fromEntries(pairs) as Record<string, string[]>
}

test('a backup is restored into an empty deployment: every row, the keys, and people sign in', async (t) => {
  const { folder, file, keys } = await folderOf(t)
  const stack = await testStack(t)
  const { pair, token } = await fillStack(stack)
  await stack[Symbol.asyncDispose]() // so that both sides of the comparison stand still
  const made = await operatorAt(stack)('backup', file, ...keys, '--json')
  assert.equal(made.code, 0, made.err)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const SECRETS_KEY = 'ab'.repeat(32)
  const strange = await operatorAt(stack, { SECRETS_KEY })('backup', `${file}.2`, ...keys)
  assert.deepEqual([strange.code, /SECRETS_KEY opens nothing/.test(strange.err)], [1, true])
  const before = await allRows(String(stack.settings.DATABASE_URL))
  const filled = Object.values(before).filter((rows) => rows.length > 0)
  assert.ok(filled.length >= LEAST_FILLED, `${filled.length} tables have rows`)

  const { home, DATABASE_URL, operator } = await emptyDeployment(t, folder)
  const restored = await operator('restore', file, ...keys, '--json')
  assert.equal(restored.code, 0, restored.err)
  assert.deepEqual(JSON.parse(restored.out).rows, JSON.parse(made.out).rows)
  assert.deepEqual(JSON.parse(restored.out).warnings, [])
  const [after, expected] = [await allRows(DATABASE_URL), asRestored(before)]
  for (const name of Object.keys(expected)) assert.deepEqual(after[name], expected[name], name)
  assert.deepEqual(Object.keys(after), Object.keys(expected))
  const structure = await allStructure(String(stack.settings.DATABASE_URL))
  assert.deepEqual(await allStructure(DATABASE_URL), structure)

  const again = await startStack({
    home,
    env: { ...(await testEnvironment()), DATABASE_URL, PORT: '0', LOG_LEVEL: 'fatal' },
    programs: PROGRAMS,
  })
  cleanUp(t, () => again[Symbol.asyncDispose]())
  const officer = clientOf(again.url, pair.access_token)
  assert.equal((await officer.call(getName, {})).status, 200, 'a token of before the backup')
  const anew = clientOf(again.url, (await signIn(again.url, people.officer)).access_token)
  const agent = clientOf(again.url, token)
  await until(async () => {
    const found = await agent.call(search, { body: { query: 'zeppelin' } })
    return found.status === 200 && found.body.results.length === 1
  })
  const member = { chat_user_id: people.member.id }
  const kept = await agent.call(listMemories, { params: member })
  assert.match(JSON.stringify(kept.body), new RegExp(SEALED_MEMORY))
  const body = { name: 'Cup', price: 5, stock: 3 }
  const product = await anew.call(createProduct, { params: { org: 'demo' }, body })
  assert.equal(product.status, 201, 'sequences go on where they stood')
})

test('a backup of a deployment where people write is whole, and is restored without keys', async (t) => {
  const { folder, file } = await folderOf(t)
  const stack = await testStack(t)
  const { access_token } = await stack.signIn(people.officer)
  const { token } = await stack.machineToken(access_token, ['knowledge:read', 'knowledge:write'])
  const agent = stack.as(token)
  let ended = false
  const backup = operatorAt(stack)('backup', file, '--json').finally(() => {
    ended = true
  })
  let written = 0
  while (!ended) {
    const reply = await agent.call(putSource, sourceOf(`s${written}`, `Number ${written}`))
    assert.equal(reply.status, 201)
    written += 1
  }
  assert.equal((await backup).code, 0, (await backup).err)

  const { home, operator } = await emptyDeployment(t, folder, { INTERNAL_KEY: TEST_INTERNAL_KEY })
  const restored = await operator('restore', file, '--json')
  assert.equal(restored.code, 0, restored.err)
  const { rows, warnings } = JSON.parse(restored.out)
  assert.ok(rows['knowledge.sources'] <= written)
  assert.equal(rows['knowledge.sources'], rows['knowledge.versions'])
  assert.match(warnings.join(), /SECRET_KEY is another one.*SECRETS_KEY is another one/)
  assert.deepEqual(await readdir(home), ['mode'])
})

test('a restore refuses what is not empty, other revisions, other keys and damaged files, and changes nothing', async (t) => {
  const { folder, file, keys } = await folderOf(t)
  const stack = await testStack(t)
  const source = operatorAt(stack)
  assert.equal((await source('backup', file, ...keys)).code, 0)
  const twice = await source('backup', file)
  assert.deepEqual([twice.code, /is there already/.test(twice.err)], [2, true])

  const { DATABASE_URL, home, operator } = await emptyDeployment(t, folder)
  const refused = async (run: ReturnType<typeof operatorAt>, said: RegExp, ...args: string[]) => {
    const { code, err } = await run('restore', ...args)
    assert.deepEqual([code, said.test(err)], [1, true], err)
    assert.deepEqual(await allRows(DATABASE_URL), {})
    assert.deepEqual(await readdir(home), [], 'neither keys nor a mode')
  }
  await refused(source, /is not empty: there are rows in agents\./, file)
  const filled = { ...(await testEnvironment()), DATABASE_URL: String(stack.settings.DATABASE_URL) }
  const atFilled = operatorAt({ home, settings: filled })
  await refused(atFilled, /is not empty: there are rows in agents\./, file, ...keys)
  await refused(atFilled, /is not empty: there are rows in agents\./, file)
  const away = operatorAt({ home, settings: { DATABASE_URL: 'postgres://o@127.0.0.1:1/none' } })
  await refused(away, /ECONNREFUSED/, file, ...keys)
  await refused(operator, /the database \w+ uses it.*server of its own/, file)

  const bytes = await readFile(file)
  const cut = join(folder, 'cut.tar.gz')
  await writeFile(cut, bytes.subarray(0, -1000))
  await refused(operator, /is no whole backup/, cut)

  const wrong = join(folder, 'wrong')
  await writeFile(wrong, 'another passphrase')
  await refused(
    operator,
    /passphrase is another one/,
    file,
    '--with-keys',
    '--passphrase-file',
    wrong,
  )
  const other = operatorAt({
    home: folder,
    settings: { DATABASE_URL, SECRET_KEY: 'ab'.repeat(32) },
  })
  await refused(other, /SECRET_KEY is set and another one/, file, ...keys)
  const marked = await emptyDeployment(t, folder)
  await writeFile(join(marked.home, 'mode'), 'real\n')
  await refused(marked.operator, /holds demo data, but .* is marked real/, file)

  const unpacked = await mkdtemp(join(folder, 'unpacked-'))
  await run('tar', ['xzf', file, '-C', unpacked])
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: unpacked })
})

test('no command but a start and a restore makes keys, and a backup holds none but those of its database', async (t) => {
  const { folder, file, keys } = await folderOf(t)
  const stack = await testStack(t)
  const { DATABASE_URL, NATS_URL, PATH } = stack.settings
  const home = await mkdtemp(join(folder, 'home-'))
  for (const settings of [{ PATH }, { PATH, DATABASE_URL, NATS_URL }]) {
    const operator = operatorAt({ home, settings })
    for (const args of [
      ['backup', file, ...keys],
      ['migrate', 'up'],
      ['nats', 'users'],
    ]) {
      const { code, err } = await operator(...args)
      assert.deepEqual(
        [code, /^There are no keys in .*set GUILDHALL_HOME/.test(err)],
        [1, true],
        err,
      )
    }
    assert.equal((await operator('config', 'check')).code, 1)
  }
  const bare = operatorAt({ home, settings: { PATH, INTERNAL_KEY: TEST_INTERNAL_KEY } })
  assert.match((await bare('migrate', 'up')).err, /^Nothing is installed in/)

  const strange = 'ab'.repeat(32)
  const { SECRET_KEY, SECRETS_KEY, INTERNAL_KEY } = { ...stack.keys, ...stack.settings }
  const ours = { PATH, DATABASE_URL, SECRET_KEY, SECRETS_KEY, INTERNAL_KEY }
  for (const [more, said] of [
    [{ SECRETS_KEY: '' }, /^SECRETS_KEY not found/],
    [{ SECRET_KEY: strange }, /^SECRET_KEY opens nothing/],
    [{ INTERNAL_KEY: strange }, /^INTERNAL_KEY is not the one of this database/],
  ] as const) {
    const { code, err } = await operatorAt({ home, settings: ours }, more)('backup', file, ...keys)
    assert.deepEqual([code, said.test(err)], [1, true], err)
  }
  assert.deepEqual(await readdir(home), [])
  const made = await operatorAt({ home, settings: ours })('backup', file, ...keys)
  assert.equal(made.code, 0, made.err)
})

test("neither a backup nor a restore is made where a service's own URL leads to another database", async (t) => {
  const { folder, file } = await folderOf(t)
  const INTERNAL_KEY = TEST_INTERNAL_KEY
  const here = await migratedDatabase(t, migrations)
  const source = (AUTH_DATABASE_URL: string) =>
    operatorAt({ home: folder, settings: { DATABASE_URL: here, INTERNAL_KEY, AUTH_DATABASE_URL } })
  const elsewhere = await testDatabase(t)
  const said = /^AUTH_DATABASE_URL leads to another database than DATABASE_URL/
  const refused = await source(elsewhere)('backup', file)
  assert.deepEqual([refused.code, said.test(refused.err)], [1, true], refused.err)
  const made = await source(here)('backup', file)
  assert.equal(made.code, 0, made.err)

  const more = { INTERNAL_KEY, AUTH_DATABASE_URL: elsewhere }
  const { DATABASE_URL, home, operator } = await emptyDeployment(t, folder, more)
  const { code, err } = await operator('restore', file)
  assert.deepEqual([code, said.test(err)], [1, true], err)
  for (const url of [DATABASE_URL, elsewhere]) assert.deepEqual(await allRows(url), {})
  assert.deepEqual(await readdir(home), [])
})

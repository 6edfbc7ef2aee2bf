import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { listAudit } from '@guildhall/contracts/ops'
import { people } from '@guildhall/sandbox/demo'
import { cleanUp, until } from '@guildhall/service/testing'
import { operatorAt } from './run-operator.ts'
import { testStack } from './stack.ts'

const NEW = ['--name', 'Chess', '--prefix', 'chess', '--guild-id', '284402700000000077']

const operatorOf = async (t: Parameters<typeof testStack>[0], more = {}) =>
  operatorAt(await testStack(t), more)

test('orgs are made once, listed, and their modules switched', async (t) => {
  const operator = await operatorOf(t)
  const made = await operator('org', 'create', ...NEW, '--off', 'storefront,points', '--json')
  assert.equal(made.code, 0, made.err)
  assert.equal(JSON.parse(made.out).created, true)
  assert.equal(JSON.parse((await operator('org', 'create', ...NEW, '--json')).out).created, false)
  const listed = JSON.parse((await operator('org', 'list', '--json')).out) as { prefix: string }[]
  assert.deepEqual(
    listed.map(({ prefix }) => prefix),
    ['demo', 'rival', 'chess'],
  )
  const modules = JSON.parse(
    (await operator('org', 'modules', 'chess', '--on', 'points', '--json')).out,
  )
  assert.deepEqual([modules.points, modules.storefront, modules.knowledge], [true, false, true])
  assert.match((await operator('org', 'list')).out, /chess +Chess/)
})

test('a job is run at its service and waited for', async (t) => {
  const operator = await operatorOf(t)
  const run = await operator('jobs', 'run', 'auth.prune', '--json')
  assert.equal(run.code, 0, run.err)
  assert.deepEqual([JSON.parse(run.out).job, JSON.parse(run.out).state], ['auth.prune', 'done'])
  assert.match((await operator('jobs', 'list')).out, /knowledge\.index_pending +\* \* \* \* \*/)
})

test('a job takes the contents of a file, and its run stands in the audit log', async (t) => {
  const stack = await testStack(t)
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-csv-'))
  cleanUp(t, () => rm(folder, { recursive: true, force: true }))
  const csv = join(folder, 'kickoff.csv')
  const who = 'ada@example.org;Ada;Lovelace;2026-10-01'
  await writeFile(csv, `Email;First Name;Last Name;Checked-In Date\r\n${who}\r\n`)
  const args = ['org_prefix=demo', 'event_name=Kickoff', 'event_points=5', `file_content=@${csv}`]
  const flags = args.flatMap((one) => ['-a', one])
  const operator = operatorAt(stack)
  const run = await operator('jobs', 'run', 'points.import_event_csv', ...flags, '--json')
  assert.equal(run.code, 0, run.err)
  const { id, state } = JSON.parse(run.out)
  assert.equal(state, 'done')
  const superadmin = stack.as((await stack.signIn(people.superadmin)).access_token)
  const entry = await until(async () => {
    const reply = await superadmin.call(listAudit, { query: { action: 'store.job.started' } })
    return reply.status === 200 && reply.body.entries[0]
  })
  assert.deepEqual(
    [entry.source, entry.details],
    ['cli', { job: 'points.import_event_csv', run_id: id }],
  )
  const missing = await operator(
    'jobs',
    'run',
    'points.import_event_csv',
    '-a',
    'file_content=@/no',
  )
  assert.deepEqual([missing.code, /cannot be read/.test(missing.err)], [2, true])
})

test('the search index is made again, and the operator is told how far', async (t) => {
  const operator = await operatorOf(t)
  const run = await operator('search', 'rebuild', '--json')
  assert.equal(run.code, 0, run.err)
  const { state, result } = JSON.parse(run.out)
  assert.equal(state, 'done')
  assert.match(result.generation, /^v\d+-/)
  const surplus = await operator('search', 'rebuild', 'now')
  assert.deepEqual([surplus.code, /takes no now/.test(surplus.err)], [2, true])
})

test('the check passes on a good installation and names every fault of a bad one', async (t) => {
  const operator = await operatorOf(t, { TRACKER_PROFILES_SAMPLE_RATE: '0.1' })
  const good = await operator('config', 'check')
  assert.equal(good.code, 0, good.err)
  assert.match(good.out, /settings without effect +WARNING +TRACKER_PROFILES_SAMPLE_RATE changes/)
  assert.match(good.out, /database +ok +answers; migrations applied/)

  const faults = {
    AUTH_DATABASE_URL: 'postgres://auth@127.0.0.1:1/auth',
    OPS_PORT: 'many',
    MEILI_URL: 'http://127.0.0.1:7700',
    KNOWLEDGE_CRAWL_BACH: '5',
    SECRET_KEY_FILE: '/nowhere',
  }
  const wrongNats = { ...faults, NATS_URL: 'nats://a:1,nats://b:2' }
  const stack = await testStack(t)
  const faulty = operatorAt(stack, faults)
  const machine = await faulty('config', 'check', '--json')
  const found: { check: string; ok: boolean }[] = JSON.parse(machine.out)
  assert.equal(machine.code, 1)
  assert.deepEqual(
    found.filter(({ ok }) => !ok).map(({ check }) => check),
    ['settings of knowledge', 'settings of ops', 'unknown settings', 'contradictions', 'database'],
  )
  const withNats = operatorAt(stack, wrongNats)
  const [list, all] = await Promise.all([
    withNats('org', 'list'),
    withNats('config', 'check', '--json'),
  ])
  assert.deepEqual([list.code, /^Settings cannot.*\n +NATS_URL: needs/.test(list.err)], [1, true])
  const wrong: typeof found = JSON.parse(all.out)
  const told = wrong.filter(({ ok }) => !ok).map(({ check }) => check)
  for (const { check, ok } of found) assert.ok(ok || told.includes(check), check)
  assert.ok(told.includes('nats') && told.includes('settings of gateway'), told.join())
  const bad = await faulty('config', 'check')
  assert.equal(bad.code, 1)
  assert.match(bad.err, /settings of ops +FAULT[^:]*:\n +OPS_PORT/)
  assert.match(bad.err, /settings of knowledge +FAULT[^:]*:\n +MEILI_URL: MEILI_URL and QDRANT_URL/)
  assert.match(bad.err, /database +FAULT.*ECONNREFUSED/)
  assert.match(bad.err, /settings of auth +ok/)
  assert.match(bad.err, /KNOWLEDGE_CRAWL_BACH is read by nobody: is KNOWLEDGE_CRAWL_BATCH meant/)
  assert.match(bad.err, /SECRET_KEY and SECRET_KEY_FILE are both set/)
})

test('before the first start the check names every fault too, and asks for no key', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-test-new-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true }))
  const check = operatorAt({ home, settings: { OPS_PORT: 'many', KNOWLEDGE_CRAWL_BACH: '3' } })
  const { code, out } = await check('config', 'check', '--json')
  const found: { check: string; ok: boolean; result: string }[] = JSON.parse(out)
  const faults = found.filter(({ ok }) => !ok)
  assert.deepEqual(
    [code, faults.map((one) => one.check)],
    [1, ['settings of ops', 'unknown settings', 'database']],
    out,
  )
  assert.match(String(faults.at(-1)?.result), /^Nothing is installed in .*npm start makes it$/)
  assert.deepEqual(await readdir(home), [])
})

test('the check names every fault of a pack with its file, before knowledge refuses to start', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-packs-'))
  cleanUp(t, () => rm(dir, { recursive: true, force: true }))
  const stack = await testStack(t)
  const check = async (more: Record<string, string>) => {
    const { code, out } = await operatorAt(stack, more)('config', 'check', '--json')
    const found: { check: string; ok: boolean; result: string }[] = JSON.parse(out)
    return { code, packs: found.find((one) => one.check === 'packs'), found }
  }
  const good = await check({})
  assert.deepEqual([good.code, good.packs?.result], [0, 'campus, careers'])

  await mkdir(join(dir, 'makers'))
  await mkdir(join(dir, 'empty'))
  const file = { name: 'others', title: 'Makers', description: 'Machines.', colour: 'red' }
  await writeFile(join(dir, 'makers/pack.json'), JSON.stringify(file))
  const bad = await check({ KNOWLEDGE_PACKS_DIR: dir })
  assert.equal(bad.code, 1)
  assert.deepEqual(
    bad.found.filter(({ ok }) => !ok).map((one) => one.check),
    ['packs'],
  )
  assert.match(bad.packs?.result ?? '', /makers\/pack\.json: the file: .*"colour"/)
  assert.match(bad.packs?.result ?? '', /empty\/pack\.json: is missing/)
  const stranger = await check({ PACK_SETTINGS: 'campus.nothing_url=https://x.test/' })
  assert.match(stranger.packs?.result ?? '', /campus has no setting nothing_url/)
})

test('migrations go to the schema as its own service reaches it', async (t) => {
  const own = { AUTH_DATABASE_URL: 'postgres://auth@127.0.0.1:1/auth' }
  const operator = await operatorOf(t, own)
  const { code, err } = await operator('migrate', 'up')
  assert.equal(code, 1)
  assert.match(err, /ECONNREFUSED 127\.0\.0\.1:1/)
})

test('wrong calls say what is right and end with another code', async (t) => {
  const operator = await operatorOf(t)
  for (const [args, code, said] of [
    [[], 0, /Usage/],
    [['org', 'destroy'], 2, /Usage/],
    [['--unknown'], 2, /Unknown option/],
    [['org', 'create', '--name', 'X'], 2, /needs --name, --prefix and --guild-id/],
    [['org', 'modules', 'demo', '--on', 'chess'], 2, /There is no module chess/],
    [['org', 'create', ...NEW.with(3, 'mcp')], 1, /The prefix mcp is reserved/],
    [['jobs', 'run', 'auth.nothing'], 2, /There is no job/],
    [['jobs', 'run', 'auth.prune', '-a', 'x=1'], 2, /has no argument x; it takes none/],
    [['org', 'list', 'demo'], 2, /org list takes no demo/],
    [['org', 'list', '--yes'], 2, /org list takes no --yes/],
    [['backup'], 2, /Name a new file/],
    [['backup', 'a', 'b'], 2, /backup takes no b/],
    [['backup', '/nowhere/a'], 2, /its folder is not there/],
    [['restore', '/nowhere/a'], 2, /cannot be read/],
    [['restore', 'a', '--with-keys'], 2, /needs --passphrase-file/],
    [['backup', '--help'], 0, /backup <file> \[--with-keys/],
    [['org', 'destroy', '--json'], 2, /^\{"error":"There is no command org destroy","code":/],
    [['migrate', 'down', 'auth'], 2, /add --yes/],
  ] as const) {
    const { out, err, ...ended } = await operator(...args)
    assert.equal(ended.code, code, `${args.join(' ')}: ${out}${err}`)
    assert.match(out + err, said)
  }
})

import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { getJwks } from '@guildhall/contracts/auth'
import { memberLogin } from '@guildhall/contracts/store-members'
import { deactivateOrg } from '@guildhall/contracts/superadmin'
import { accounts, people } from '@guildhall/sandbox/demo'
import { ended, launch, mainPid, newHome, ready, serverPids } from './launched.ts'
import { clientOf, orgIdOf, signIn } from './people.ts'

function lives(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('Ctrl-C leaves no process and no lock, kill -9 neither for long, and the data stay', async (t) => {
  const home = await newHome(t)
  const first = await launch(t, home)
  const url = await ready(first)
  assert.match(first.output(), /olivia {2}officer of Demo Club/)
  const { access_token } = await signIn(url, people.officer)
  const org = await orgIdOf(clientOf(url, access_token))
  const keys = await clientOf(url).call(getJwks, {})
  const [, tokenUrl = ''] = first.output().match(/Store site .* curl -s '(\S+)'/) ?? []
  const { token } = (await (await fetch(tokenUrl)).json()) as { token: string }
  const login = { params: { org: 'demo' }, body: { email: accounts.member.email } }
  assert.equal((await clientOf(url, token).call(memberLogin, login)).status, 200)

  const superadmin = clientOf(url, (await signIn(url, people.superadmin)).access_token)
  const params = { org_id: String(await orgIdOf(superadmin, 'rival')) }
  assert.equal((await superadmin.call(deactivateOrg, { params })).status, 200)

  const again = await launch(t, home)
  assert.equal(await ended(again.process), 1)
  assert.match(again.output(), /already runs from/)

  const servers = await serverPids(home)
  first.process.kill('SIGINT')
  assert.equal(await ended(first.process), 0, first.output())
  assert.deepEqual(servers.filter(lives), [])
  await assert.rejects(access(join(home, 'running.json')))

  const second = await launch(t, home)
  const secondUrl = await ready(second)
  assert.deepEqual(await clientOf(secondUrl).call(getJwks, {}), keys)
  process.kill(await mainPid(home), 'SIGKILL')
  await ended(second.process)

  const third = await launch(t, home)
  const thirdUrl = await ready(third)
  const officer = clientOf(thirdUrl, (await signIn(thirdUrl, people.officer)).access_token)
  assert.equal(await orgIdOf(officer), org)
  third.process.kill('SIGTERM')
  assert.equal(await ended(third.process), 0)
})

for (const [what, env, said] of [
  ['a SQLite URL', { DATABASE_URL: 'sqlite:///club.db' }, /SQLite is not supported/],
  [
    'another HOST for the sandbox',
    { HOST: '0.0.0.0' },
    /the sandbox lets anybody sign in as anybody/,
  ],
  ['a port that is none', { PORT: 'abc' }, /PORT is abc; it takes 0 to 65535/],
  ['a setting that is none', { SYS_ADMIN: 'olivia' }, /SYS_ADMIN: needs chat user ids/],
  ['a nats-server that is none', { NATS_SERVER_BIN: '/nowhere' }, /NATS_SERVER_BIN is \/nowhere/],
] as const) {
  test(`${what} stops the start with what is accepted, and leaves no process`, async (t) => {
    const home = await newHome(t)
    const launched = await launch(t, home, env)
    assert.equal(await ended(launched.process), 1)
    assert.match(launched.output(), said)
    assert.doesNotMatch(launched.output(), /\n {4}at /, 'a stack is no answer to an officer')
  })
}

test('a demo folder refuses real credentials', async (t) => {
  const home = await newHome(t)
  const demo = await launch(t, home)
  await ready(demo)
  demo.process.kill('SIGINT')
  await ended(demo.process)
  const real = await launch(t, home, { BOT_TOKEN: 'real' })
  assert.equal(await ended(real.process), 1)
  assert.match(real.output(), /holds demo data, but outside credentials are set/)
})

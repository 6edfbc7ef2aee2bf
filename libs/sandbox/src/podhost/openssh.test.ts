import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { quietLog as log } from '../testing.ts'
import { findOpenssh } from './openssh.ts'

async function newHome(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'openssh-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true }))
  return home
}

const installed = existsSync('/usr/sbin/sshd')

test('two starts at once find one OpenSSH and leave nothing else behind', async (t) => {
  const home = await newHome(t)
  const find = () => findOpenssh({ home, log, env: process.env })
  const [one, two] = await Promise.all([find(), find()])
  assert.equal(one, two)
  assert.equal(one, installed ? '/' : join(home, 'openssh'))
  assert.deepEqual(await readdir(home), installed ? [] : ['openssh'])
})

test('without sshd and without apt the error says what to do', async (t) => {
  const found = findOpenssh({ home: await newHome(t), log, env: { PATH: '/nonexistent' } })
  if (installed) return assert.equal(await found, '/')
  await assert.rejects(found, {
    code: 'openssh.missing',
    message: /apt-get install openssh-server/,
  })
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testSandbox } from '../testing.ts'
import { asPerson, asRoot, memberOf, podhostClient, testKeys } from './testing.ts'

async function open(t: TestContext) {
  const { podhostUrl, world } = await testSandbox(t)
  const keys = await testKeys(t)
  const pod = await podhostClient(podhostUrl, world.keys.podhost).create(keys.env)
  const root = (command: string) => asRoot(keys, pod, command)
  const as = async (name: string) => {
    const certificate = await keys.certificate(memberOf(pod.id, name))
    return (command: string) => asPerson(keys, pod, certificate, command)
  }
  return { root, as }
}

test('neither root nor a member of a pod takes more memory or a larger file than the sandbox allows', async (t) => {
  const { root, as } = await open(t)
  const refused: [string, RegExp][] = [
    ['dd if=/dev/zero of=/dev/null bs=5G count=1', /memory exhausted/],
    ['truncate -s 17G big; exit $?', /File size limit exceeded/],
    ['head -c 80M /dev/zero >/dev/shm/big', /No space left/],
    ['prlimit --pid $$ --nproc=unlimited:unlimited', /Operation not permitted/],
    ['prlimit --pid $$ --data=unlimited:unlimited', /Operation not permitted/],
    ['prlimit --pid $$ --fsize=unlimited:unlimited', /Operation not permitted/],
  ]
  for (const look of [await as('alice'), root])
    for (const [command, reason] of refused) {
      const { code, stderr } = await look(command)
      assert.notEqual(code, 0, command)
      assert.match(stderr, reason, command)
      await look('rm -f /dev/shm/big')
    }
})

test('a member who starts processes without end is stopped, and others go on', async (t) => {
  const { root, as } = await open(t)
  const [alice, bob] = [await as('alice'), await as('bob')]
  const loop = 'n=0; while [ $n -lt 2000 ]; do sleep 600 >/dev/null 2>&1 & n=$((n + 1)); done'
  assert.match((await alice(`exec sh -c '${loop}'`)).stderr, /Cannot fork/)
  const started = Number((await root('pgrep -c -u alice')).stdout)
  assert.ok(started > 900 && started <= 1024, `${started} processes`)
  assert.equal((await bob('id -un')).stdout, 'bob\n')
})

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { testSandbox } from '../testing.ts'
import {
  asPerson,
  asRoot,
  memberOf,
  podhostClient,
  type SeenPod,
  sshOptions,
  type TestKeys,
  testKeys,
} from './testing.ts'

async function open(t: TestContext) {
  const { podhostUrl, world } = await testSandbox(t)
  const keys = await testKeys(t)
  const pod = await podhostClient(podhostUrl, world.keys.podhost).create(keys.env)
  return { keys, pod }
}

const login = async (keys: TestKeys, pod: SeenPod, folder: string, command: string) =>
  asPerson(keys, pod, await keys.certificate(memberOf(pod.id, folder)), command)

test("ssh-keygen reads the tests' own certificates", async (t) => {
  const keys = await testKeys(t)
  const file = await keys.certificate(memberOf('pod1', 'alice'))
  const { stdout } = await keys.run('ssh-keygen', ['-L', '-f', file])
  assert.match(stdout, /Principals:\s+cp-pod1\n/)
  assert.match(stdout, /force-command \/usr\/local\/bin\/compute-login alice\n/)
  assert.match(stdout, /permit-port-forwarding\n\s+permit-pty\n/)
})

test('a member gets a folder and an account of their own, without anything of root', async (t) => {
  const { keys, pod } = await open(t)
  const seen = await login(keys, pod, 'alice', 'pwd; id -un; id -G; stat -c "%a %U" .; env')
  const [folder, name, groups, home, ...env] = seen.stdout.trim().split('\n')
  assert.deepEqual([folder, name, home], ['/workspace/alice', 'alice', '700 alice'], seen.stderr)
  assert.match(String(groups), /^\d+$/)
  assert.deepEqual(
    env.filter((line) => /CLI_|RUNPOD|ORIGINAL/.test(line)),
    [],
  )
  const rights = await login(keys, pod, 'alice', 'grep -E "Cap|NoNew" /proc/self/status')
  assert.deepEqual(rights.stdout.match(/[0-9a-f]+$/gm), [...Array(5).fill('0'.repeat(16)), '1'])
  const uid = await login(keys, pod, 'alice', 'id -u')
  assert.equal((await login(keys, pod, 'alice', 'id -u')).stdout, uid.stdout)
})

test('a member has a terminal and a shell', async (t) => {
  const { keys, pod } = await open(t)
  const certificate = await keys.certificate(memberOf(pod.id, 'alice'))
  const port = String(pod.ssh.direct?.port)
  const options = [...sshOptions(keys.person, certificate), '-tt', '-p', port, 'root@127.0.0.1']
  const { stdout } = await keys.run(
    'ssh',
    options,
    'stat -c %U "$(tty)"; shopt login_shell; exit\n',
  )
  assert.match(stdout, /^alice\r?$/m)
  assert.match(stdout, /login_shell\s+on/)
})

test('members read nothing of each other, of root, or of the host keys', async (t) => {
  const { keys, pod } = await open(t)
  await login(keys, pod, 'alice', 'echo secret >diary; chmod 666 diary')
  const closed = [
    'cat /workspace/alice/diary',
    'ls /workspace/alice',
    'ls /workspace/.compute',
    'cat /etc/ssh/compute/host_key',
    'cat /etc/ssh/compute/authorized_keys',
    'ls /root',
    'touch /workspace/file',
    'cat /proc/$(pgrep -o sshd)/environ',
  ]
  for (const command of closed) {
    const { code, stdout } = await login(keys, pod, 'bob', command)
    assert.notEqual(code, 0, `${command}: ${stdout}`)
  }
})

test('of ten first logins at once each member gets one account and nobody two', async (t) => {
  const { keys, pod } = await open(t)
  const folders = Array.from({ length: 10 }, (_, n) => `m${n % 5}`)
  const seen = await Promise.all(folders.map((one) => login(keys, pod, one, 'id -u')))
  const pairs = new Set(seen.map(({ stdout }, n) => `${folders[n]} ${stdout.trim()}`))
  const uids = new Set(seen.map(({ stdout }) => stdout.trim()))
  assert.deepEqual([pairs.size, uids.size], [5, 5], JSON.stringify(seen))
  const { stdout } = await asRoot(keys, pod, 'grep -c ^m /etc/passwd; id -u m0')
  assert.ok(uids.has(stdout.trim().split('\n')[1] ?? ''), stdout)
})

test('a uid belongs to its folder also on a new container disk', async (t) => {
  const { keys, pod } = await open(t)
  for (const folder of ['alice', 'bob']) await login(keys, pod, folder, 'true')
  const uid = async () => (await login(keys, pod, 'bob', 'id -u')).stdout
  const first = await uid()
  await asRoot(keys, pod, 'sed -i "/^alice:/d;/^bob:/d" /etc/passwd')
  assert.equal(await uid(), first)
  await asRoot(keys, pod, 'rm -r /workspace/.compute/members/*; sed -i "/^bob:/d" /etc/passwd')
  assert.equal(await uid(), first, 'the home tells where the register was lost')
})

test('compute-login refuses planted links, foreign homes and bad names', async (t) => {
  const { keys, pod } = await open(t)
  await login(keys, pod, 'alice', 'true')
  await asRoot(keys, pod, 'cd /workspace; ln -s alice carol; ln -s /root dave; touch erin')
  await asRoot(keys, pod, 'cd /workspace; mkdir frank; chown 33:33 frank; cp -a alice grace')
  const folders = ['carol', 'dave', 'erin', 'frank', 'grace']
  for (const folder of [
    ...folders,
    '..',
    '../root',
    'Alice',
    '9lives',
    'a'.repeat(23),
    '"a b"',
    '',
  ]) {
    const { code, stdout, stderr } = await login(keys, pod, folder, 'id')
    assert.deepEqual([code, stdout], [1, ''], folder)
    assert.match(stderr, /^compute-login: .*officer/, folder)
  }
  const { stdout } = await login(keys, pod, 'a.b-c_1', 'id -un')
  assert.equal(stdout, 'a.b-c_1\n')
})

test('an officer is root; sshd refuses any other certificate', async (t) => {
  const { keys, pod } = await open(t)
  const good = { principals: [`cp-${pod.id}`] }
  const enter = async (file: string) => {
    const { code, stdout } = await asPerson(keys, pod, file, 'id -u')
    return code === 0 ? stdout.trim() : code
  }
  assert.equal(await enter(await keys.certificate(good)), '0')
  const refused = {
    expired: await keys.certificate({ ...good, until: -10 }),
    early: await keys.certificate({ ...good, from: 600 }),
    foreignPod: await keys.certificate({ principals: ['cp-other'] }),
    noPrincipal: await keys.certificate({ principals: [] }),
    foreignCa: await keys.certificate({ ...good, ca: generateKeyPairSync('ed25519').privateKey }),
    altered: await altered(keys, await keys.certificate({ principals: ['cp-other'] }), pod.id),
    none: '/dev/null',
  }
  for (const [name, file] of Object.entries(refused)) assert.equal(await enter(file), 255, name)
})

/** The same certificate with another principal of the same length, under the old signature. */
async function altered(keys: TestKeys, file: string, podId: string) {
  const member = await keys.certificate({ principals: [`cp-${'x'.repeat(podId.length)}`] })
  const [kind, base64 = ''] = (await readFile(member, 'utf8')).split(' ')
  const bytes = Buffer.from(base64, 'base64')
  bytes.write(podId, bytes.indexOf('xxxx'))
  await writeFile(file, `${kind} ${bytes.toString('base64')}\n`)
  return file
}

test('nobody logs in to the account of a member, with whatever key', async (t) => {
  const { keys, pod } = await open(t)
  const mine = `${keys.env.CLI_SSH_PUBLIC_KEY}`
  await login(keys, pod, 'alice', `mkdir .ssh; echo '${mine}' >.ssh/authorized_keys`)
  const certificate = await keys.certificate({ principals: [`cp-${pod.id}`, 'alice'] })
  const port = String(pod.ssh.direct?.port)
  for (const options of [sshOptions(keys.backend), sshOptions(keys.person, certificate)]) {
    const { code } = await keys.run('ssh', [...options, '-p', port, 'alice@127.0.0.1', 'id'])
    assert.equal(code, 255)
  }
})

test('members forward to the pod and never from it', async (t) => {
  const { keys, pod } = await open(t)
  const certificate = await keys.certificate(memberOf(pod.id, 'alice'))
  const own = String(pod.ssh.direct?.port)
  const options = sshOptions(keys.person, certificate)
  const there = '127.0.0.1:22'
  const to = ['-W', there, '-p', own, 'root@127.0.0.1']
  assert.match((await keys.run('ssh', [...options, ...to])).stdout, /^SSH-2\.0-/)
  const port = String(await freePort())
  const socket = `/workspace/alice/socket:${there}`
  for (const remote of [`${port}:${there}`, `127.0.0.1:${port}:${there}`, port, socket]) {
    const { code } = await asPerson(keys, pod, certificate, 'echo in', ['-R', remote])
    assert.equal(code, 255, remote)
  }
  const { stdout } = await asRoot(keys, pod, '/usr/sbin/sshd -T')
  for (const refused of ['allowstreamlocalforwarding', 'permittunnel', 'gatewayports'])
    assert.match(stdout, new RegExp(`^${refused} no$`, 'm'))
  for (const refused of ['permituserrc', 'permituserenvironment', 'passwordauthentication'])
    assert.match(stdout, new RegExp(`^${refused} no$`, 'm'))
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('sftp and scp work as the member, in their folder', async (t) => {
  const { keys, pod } = await open(t)
  const options = sshOptions(keys.person, await keys.certificate(memberOf(pod.id, 'alice')))
  const port = String(pod.ssh.direct?.port)
  const [here, back] = [join(keys.folder, 'here'), join(keys.folder, 'back')]
  await writeFile(here, 'text of a file')
  const sftp = await keys.run(
    'sftp',
    [...options, '-P', port, '-b', '-', 'root@127.0.0.1'],
    `put ${here} there\nget there ${back}\n-ls /root\npwd\n`,
  )
  assert.match(sftp.stdout, /Remote working directory: \/workspace\/alice/, sftp.stderr)
  assert.match(sftp.stderr, /Permission denied/)
  assert.equal(await readFile(back, 'utf8'), 'text of a file')
  for (const legacy of [[], ['-O']]) {
    const target = 'root@127.0.0.1:copied'
    const copied = await keys.run('scp', [...legacy, ...options, '-P', port, here, target])
    assert.equal(copied.code, 0, copied.stderr)
  }
  const { stdout } = await login(keys, pod, 'alice', 'cat copied; stat -c " %U" copied there')
  assert.equal(stdout, 'text of a file alice\n alice\n')
})

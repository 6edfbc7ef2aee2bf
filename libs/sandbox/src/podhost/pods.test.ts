import assert from 'node:assert/strict'
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '@guildhall/service/testing'
import { testSandbox } from '../testing.ts'
import { asRoot, gpuPod, podhostClient, type SeenPod, type TestKeys, testKeys } from './testing.ts'

async function open(t: TestContext) {
  const sandbox = await testSandbox(t)
  const keys = await testKeys(t)
  return { sandbox, keys, host: podhostClient(sandbox.podhostUrl, sandbox.world.keys.podhost) }
}

async function hostKeyOf(keys: TestKeys, pod: SeenPod) {
  const port = String(pod.ssh.direct?.port)
  const { stdout } = await keys.run('ssh-keyscan', ['-t', 'ed25519', '-p', port, '127.0.0.1'])
  return stdout.trim().split(' ').at(-1)
}

test('a pod runs within a second or so and its root has a machine of its own', async (t) => {
  const { keys, host } = await open(t)
  await host.create(keys.env)
  const began = performance.now()
  const pod = await host.create(keys.env)
  t.diagnostic(
    `from the request to an sshd that listens: ${Math.round(performance.now() - began)} ms`,
  )
  const seen = await asRoot(
    keys,
    pod,
    'id -u; hostname; readlink /proc/self/ns/mnt; ps -e -o comm=',
  )
  const [uid, name, mounts, ...processes] = seen.stdout.trim().split('\n')
  assert.deepEqual([uid, name], ['0', pod.id])
  assert.notEqual(mounts, await mountsHere())
  assert.ok(processes.includes('sshd') && !processes.includes('node'), seen.stdout)
})

const mountsHere = () => readlink('/proc/self/ns/mnt')

test('what would harm the machine is refused to the root of a pod', async (t) => {
  const { keys, host } = await open(t)
  const pod = await host.create(keys.env)
  const refused =
    /Read-only file system|not permitted|[Pp]ermission denied|No such file|must be (superuser|root)/
  const attempts = [
    'touch /usr/guildhall',
    'mount -o remount,bind,rw /usr',
    'mknod /tmp/disk b 8 0',
    'kill -9 1',
    'ls /old/etc',
    'sysctl -w vm.swappiness=61',
    'echo x >/dev/kmsg',
    'hostname other',
    'chroot /proc/1/root ls',
  ]
  for (const attempt of attempts) {
    const { code, stdout, stderr } = await asRoot(keys, pod, attempt)
    const seen = `${attempt}: ${code} ${stdout}${stderr}`
    assert.ok(code > 0 && code < 126, seen) // it ran: 126 and 127 are no program, 255 is ssh
    assert.match(stderr, refused, seen)
  }
})

test('an officer who deletes /etc and /usr in the pod leaves the machine unchanged', async (t) => {
  const { keys, host } = await open(t)
  const pod = await host.create(keys.env)
  const here = await mountsHere()
  const before = await machine()
  const { stdout: there } = await asRoot(
    keys,
    pod,
    'readlink /proc/self/ns/mnt; cat /proc/self/uid_map',
  )
  const [mounts, map] = there.trim().split('\n')
  // nothing is deleted unless this root is nobody on the machine, with mounts of its own
  assert.match(String(mounts), /^mnt:/)
  assert.notEqual(mounts, here)
  assert.ok(Number(map?.trim().split(/\s+/)[1]) > 1_000_000_000, there)
  const command = `[ "$(readlink /proc/self/ns/mnt)" != '${here}' ] && rm -rf --one-file-system /etc /usr`
  const deleted = await asRoot(keys, pod, `${command}; ls /etc; ls /usr/local/bin`)
  assert.equal(deleted.stdout.trim(), '', deleted.stderr)
  assert.deepEqual(await machine(), before)
  await host.act(pod.id, 'restart')
  const again = await host.become(pod.id, 'RUNNING')
  assert.equal((await asRoot(keys, again, 'test -e /etc/passwd && echo back')).stdout, 'back\n')
})

async function machine() {
  const names = await Promise.all(
    ['/etc', '/usr', '/usr/bin', '/usr/local'].map((path) => readdir(path)),
  )
  const { mtimeMs } = await stat('/etc')
  return { names, mtimeMs, passwd: await readFile('/etc/passwd', 'utf8') }
}

test('a stop wipes the container disk and keeps the volume with its host key', async (t) => {
  const { keys, host } = await open(t)
  const pod = await host.create(keys.env)
  const hostKey = await hostKeyOf(keys, pod)
  await asRoot(keys, pod, 'echo kept >/workspace/file; echo lost >/root/file')
  const stopped = await host.act(pod.id, 'stop')
  assert.deepEqual([stopped.status, stopped.body.status, stopped.body.cost], [200, 'EXITED', 0])
  assert.equal(stopped.body.ssh.direct, null)
  assert.equal((await host.act(pod.id, 'start')).status, 200)
  const again = await host.become(pod.id, 'RUNNING')
  const { stdout } = await asRoot(keys, again, 'cat /workspace/file /root/file')
  assert.equal(stdout, 'kept\n')
  assert.equal(await hostKeyOf(keys, again), hostKey)
})

test('nobody sees or ends a pod of another account, and a terminated one is gone', async (t) => {
  const { sandbox, keys, host } = await open(t)
  sandbox.world.otherPodhostKeys = ['other-key']
  const other = podhostClient(sandbox.podhostUrl, 'other-key')
  const pod = await host.create(keys.env)
  assert.deepEqual((await other.ask('GET', '/pods')).body, { pods: [] })
  assert.equal((await other.act(pod.id, 'terminate')).status, 404)
  assert.equal((await host.act(pod.id, 'terminate')).status, 204)
  assert.equal((await host.ask('GET', `/pods/${pod.id}`)).status, 404)
  assert.notEqual((await asRoot(keys, pod, 'true')).code, 0)
})

test('start, stop and restart at once leave the pod as the last one said', async (t) => {
  const { keys, host } = await open(t)
  const made = await host.ask('POST', '/pods', { ...gpuPod, env: keys.env })
  const { id } = made.body
  await Promise.all(['stop', 'start', 'stop', 'stop'].map((action) => host.act(id, action)))
  await host.act(id, 'stop')
  assert.equal((await host.ask('GET', `/pods/${id}`)).body.status, 'EXITED')
  await host.act(id, 'start')
  assert.equal((await asRoot(keys, await host.become(id, 'RUNNING'), 'echo up')).stdout, 'up\n')
})

test('sshd that is killed comes back', async (t) => {
  const { keys, host } = await open(t)
  const pod = await host.create(keys.env)
  await asRoot(keys, pod, 'kill -9 $(pgrep -o sshd)')
  await until(async () => (await asRoot(keys, pod, 'true')).code === 0)
})

test('a pod of an image without the scripts gets them from CLI_SETUP', async (t) => {
  const { keys, host } = await open(t)
  const file = join(import.meta.dirname, '../../../../deploy/pod-image/cli-setup.sh')
  const CLI_SETUP = await readFile(file, 'utf8')
  const pod = await host.create({ ...keys.env, CLI_SETUP }, { image: 'sandbox/bare' })
  const { stdout } = await asRoot(keys, pod, 'compute-login alice; ls -d /workspace/alice; sshd -T')
  assert.match(stdout, /\/workspace\/alice/)
  assert.match(stdout, /^allowtcpforwarding local$/m)
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testSandbox } from '../testing.ts'
import {
  asPerson,
  asRoot,
  memberOf,
  podhostClient,
  type SeenPod,
  type TestKeys,
  testKeys,
} from './testing.ts'

async function open(t: TestContext, env: Record<string, string> = {}) {
  const { podhostUrl, world } = await testSandbox(t)
  const keys = await testKeys(t)
  const host = podhostClient(podhostUrl, world.keys.podhost)
  const pod = await host.create({ ...keys.env, ...env })
  return { keys, host, pod, root: (command: string) => asRoot(keys, pod, command) }
}

const login = async (keys: TestKeys, pod: SeenPod, folder: string, command: string) =>
  asPerson(keys, pod, await keys.certificate(memberOf(pod.id, folder)), command)

test('a folder of the club whose name a member bears does not become theirs', async (t) => {
  const { keys, pod, root } = await open(t)
  await root('cd /workspace; mkdir datasets shared ahead; echo s >datasets/hf_token')
  await root('cd /workspace; chmod 1777 shared; chmod 0750 ahead')
  const before = await root('cd /workspace; stat -c "%n %u %a" datasets shared')
  for (const folder of ['datasets', 'shared']) {
    const { code, stdout, stderr } = await login(keys, pod, folder, 'cat hf_token; rm hf_token')
    assert.deepEqual([code, stdout], [1, ''], folder)
    assert.match(stderr, /folder of the club and not yours; an officer .*chown \d+:\d+ /)
  }
  const after = await root('cd /workspace; stat -c "%n %u %a" datasets shared; cat */hf_token')
  assert.equal(after.stdout, `${before.stdout}s\n`)
  const made = await login(keys, pod, 'ahead', 'stat -c "%U %a" .')
  assert.equal(made.stdout, 'ahead 700\n', made.stderr)
  const { stderr } = await login(keys, pod, 'shared', 'id')
  await root(String(/chown [\d:]+ \S+(?=')/.exec(stderr)?.[0]))
  assert.equal(
    (await login(keys, pod, 'shared', 'id -un')).stdout,
    'shared\n',
    'given by an officer',
  )
})

test('an account of the image takes nobody’s place: the member gets another name and their own folder', async (t) => {
  const { keys, pod, root } = await open(t)
  await root('echo "node:x:1000:1000::/home/node:/bin/bash" >>/etc/passwd')
  for (const folder of ['node', 'daemon', 'root']) {
    const seen = await login(keys, pod, folder, 'id -un; pwd; stat -c %U .; id -u')
    const [name, home, owner, uid] = seen.stdout.trim().split('\n')
    assert.deepEqual([name, home, owner], [`_${folder}`, `/workspace/${folder}`, `_${folder}`])
    assert.ok(Number(uid) >= 20_000, seen.stdout)
  }
})

test('nobody gets the account of somebody whose uid the image gives to another', async (t) => {
  const { keys, pod, root } = await open(t)
  const uid = (await login(keys, pod, 'alice', 'id -u')).stdout.trim()
  await root(`sed -i /^alice:/d /etc/passwd; echo "image:x:${uid}:${uid}::/:/bin/sh" >>/etc/passwd`)
  const taken = await login(keys, pod, 'alice', 'id')
  assert.deepEqual([taken.code, taken.stdout], [1, ''])
  await root(`sed -i /^image:/d /etc/passwd; echo "alice:x:${uid}:${uid}::/:/bin/sh" >>/etc/passwd`)
  await root(
    `echo "other:x:${uid}:${uid}::/:/bin/sh" | cat - /etc/passwd >/etc/p; mv /etc/p /etc/passwd`,
  )
  const shared = await login(keys, pod, 'alice', 'id')
  assert.deepEqual([shared.code, shared.stdout], [1, ''])
  assert.match(shared.stderr, /uid of 'alice' is taken/)
  await root(`sed -i '/^other:/d; s/^alice:.*/alice:x:${uid}:0::\\/:\\/bin\\/sh/' /etc/passwd`)
  const group = await login(keys, pod, 'alice', 'id')
  assert.match(group.stderr, /'alice' is another account/, 'one in the group of root')
})

test('a copy of somebody’s home gives nobody their uid, also on a new container disk', async (t) => {
  const { keys, pod, root } = await open(t)
  await login(keys, pod, 'alice', 'true')
  await root('cp -a /workspace/alice /workspace/grace; sed -i /^alice:/d /etc/passwd')
  const { code, stdout, stderr } = await login(keys, pod, 'grace', 'id -u')
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /belongs to another account/)
})

test('a deleted register is made again, and a link in its place is not followed', async (t) => {
  const { keys, host, pod, root } = await open(t)
  const uid = (await login(keys, pod, 'alice', 'id -u')).stdout
  await root('rm -r /workspace/.compute')
  assert.equal((await login(keys, pod, 'alice', 'id -u')).stdout, uid)
  await root('mkdir -m 0777 /workspace/trap; rm -r /workspace/.compute')
  await root('ln -s /workspace/trap /workspace/.compute')
  await host.act(pod.id, 'restart')
  const again = await host.become(pod.id, 'RUNNING')
  const { stdout } = await asRoot(
    keys,
    again,
    'stat -c "%F %u %a" /workspace/.compute /workspace/.compute/members; ls -A /workspace/trap',
  )
  assert.equal(stdout, 'directory 0 700\ndirectory 0 700\n')
})

test('members have the PATH and the libraries of the image, root’s tools run with their own', async (t) => {
  const path = '/opt/conda/bin:/usr/local/bin:/usr/bin:/bin'
  const { keys, pod } = await open(t, { PATH: path, LD_LIBRARY_PATH: '/opt/cuda/lib64' })
  const { stdout } = await login(keys, pod, 'alice', 'echo "$PATH $LD_LIBRARY_PATH"')
  assert.equal(stdout, `${path} /opt/cuda/lib64\n`)
})

test('sftp works where the image names internal-sftp', async (t) => {
  const { keys, pod } = await open(t)
  const { code, stderr } = await login(keys, pod, 'alice', 'internal-sftp')
  assert.equal(code, 0, stderr)
})

test('an image’s own settings of sshd do not come before ours, and only root is let in', async (t) => {
  const { root } = await open(t)
  const weaker = 'PermitRootLogin yes\\nAllowTcpForwarding yes\\n'
  // in one go: without its environment compute-prepare lets nobody in
  const planted = `printf '${weaker}' >/etc/ssh/sshd_config.d/00-a.conf`
  const { stdout, stderr } = await root(`${planted}; compute-prepare; /usr/sbin/sshd -T`)
  assert.match(stdout, /^permitrootlogin (prohibit-password|without-password)$/m, stderr)
  assert.match(stdout, /^allowtcpforwarding local$/m)
  assert.match(stdout, /^allowusers root$/m)
})

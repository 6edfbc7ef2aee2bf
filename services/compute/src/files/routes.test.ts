import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actOnPod } from '@guildhall/contracts/compute'
import { deleteFile, listFiles, MOST_TEXT_BYTES } from '@guildhall/contracts/pod-files'
import { officer, runningPodOf, testOnPods } from '../testing.ts'
import { codeOf, opened, rootOf } from './testing.ts'

test('an officer makes, writes, reads, lists, moves and deletes', async (t) => {
  const pod = await opened(t)
  const { list, read, write, mkdir, rename, remove } = pod
  assert.equal((await mkdir('/workspace/notes')).status, 200)
  assert.deepEqual(codeOf(await mkdir('/workspace/notes')), [409, 'file.exists'])
  assert.deepEqual((await write('/workspace/notes/./a.txt', 'één\n')).body, {
    path: '/workspace/notes/a.txt',
    size: 6,
  })
  assert.deepEqual((await read('/workspace/x/../notes/a.txt')).body, {
    path: '/workspace/notes/a.txt',
    content: 'één\n',
  })
  assert.equal((await write('/workspace/0.txt', '')).status, 200)
  const listed = await list()
  assert.ok(listed.status === 200)
  const shown = listed.body.files.filter(({ name }) => !name.startsWith('.'))
  assert.deepEqual(
    shown.map(({ name, type, size, permissions }) => [
      name,
      type,
      type === 'file' && size,
      permissions,
    ]),
    [
      ['notes', 'directory', false, '0755'],
      ['0.txt', 'file', 0, '0644'],
    ],
  )
  assert.ok(Math.abs(Date.now() - Date.parse(shown[0]?.modified ?? '')) < 60_000)
  assert.deepEqual(codeOf(await rename('/workspace/0.txt', '/workspace/notes/a.txt')), [
    409,
    'file.exists',
  ])
  assert.equal((await rename('/workspace/notes', '/tmp/moved')).status, 200, 'to another disk')
  assert.equal((await read('/tmp/moved/a.txt')).status, 200)
  assert.equal((await remove('/tmp/moved')).status, 200)
  assert.deepEqual(codeOf(await remove('/tmp/moved')), [404, 'file.not_found'])
})

test('a file of root’s folder is replaced with its owner and permissions, and never through a link', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root(
    'mkdir /workspace/d; echo old >/workspace/d/f; chmod 4640 /workspace/d/f; chown 1234:1234 /workspace/d/f; ln -s d/f /workspace/l',
  )
  assert.deepEqual(codeOf(await pod.write('/workspace/l', 'new')), [400, 'file.link'])
  assert.equal((await pod.write('/workspace/d/f', 'new')).status, 200)
  assert.equal(
    await root(
      'stat -c "%a %u" /workspace/d/f; cat /workspace/d/f; test -L /workspace/l && echo link; ls -A /workspace/d',
    ),
    '640 1234\nnewlink\nf\n',
  )
})

test('paths, names and files that cannot be are refused with what to do', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root(
    'cd /workspace; mkfifo pipe; head -c 2000000 /dev/urandom >binary; head -c 1048577 /dev/zero | tr "\\0" a >long; head -c 1048576 long >whole; touch "$(printf "b\\377d")"; ln -s /nowhere dangling',
  )
  for (const path of ['', 'workspace', '/a\0b', `/${'é'.repeat(2_048)}`])
    assert.equal((await pod.read(path)).status, 400, JSON.stringify(path))
  const { read, write, list, upload, mkdir, rename, download } = pod
  assert.deepEqual(codeOf(await read('/workspace/pipe')), [400, 'file.not_a_file'])
  assert.deepEqual(codeOf(await download('/workspace/pipe')), [400, 'file.not_a_file'])
  assert.deepEqual(codeOf(await read('/workspace')), [400, 'file.not_a_file'])
  assert.deepEqual(codeOf(await list('/workspace/long')), [400, 'file.not_a_folder'])
  assert.deepEqual(codeOf(await read('/workspace/long')), [413, 'file.too_large'])
  assert.equal((await read('/workspace/whole')).status, 200)
  await root('truncate -s 1000 /workspace/binary')
  assert.deepEqual(codeOf(await read('/workspace/binary')), [400, 'file.not_text'])
  assert.deepEqual(codeOf(await read('/workspace/none')), [404, 'file.not_found'])
  assert.deepEqual(codeOf(await read('/workspace/dangling')), [404, 'file.not_found'])
  assert.deepEqual(codeOf(await list('/none')), [404, 'file.not_found'])
  assert.deepEqual(codeOf(await mkdir('/none/there')), [404, 'file.not_found'])
  assert.deepEqual(codeOf(await rename('/none', '/tmp/none')), [404, 'file.not_found'])
  assert.deepEqual(codeOf(await write('/workspace/t', 'é'.repeat(MOST_TEXT_BYTES / 2 + 1))), [
    413,
    'file.too_large',
  ])
  assert.equal((await write('/workspace/t', '\u0001'.repeat(MOST_TEXT_BYTES))).status, 200)
  assert.deepEqual(codeOf(await write('/usr/x', 'x')), [403, 'file.forbidden'])
  assert.deepEqual(codeOf(await upload('/workspace', new File(['x'], 'n'.repeat(256)))), [
    400,
    'file.name',
  ])
  const listed = await list('/workspace')
  assert.ok(listed.status === 200)
  assert.ok(listed.body.files.some(({ name }) => name === 'b�d'))
})

test('protected folders stay, and a folder is deleted without following its links', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root(
    'cd /workspace; mkdir -p keep tree/sub; echo x >keep/x; ln -s /workspace/keep tree/sub/l; ln -s / slash; ln -s /workspace/keep out; touch "tree/$(printf "b\\377d")" "tree/it\'s" ./-rf',
  )
  const kept = [
    '/',
    '/workspace',
    '/root',
    '/home',
    '/workspace/../home/',
    '//',
    '/workspace/slash/root',
    '/workspace/slash/workspace/',
    '/workspace/.compute',
    '/workspace/.compute/members',
  ]
  for (const path of kept) {
    assert.deepEqual(codeOf(await pod.remove(path)), [400, 'file.protected'], path)
    assert.deepEqual(codeOf(await pod.rename(path, '/workspace/m')), [400, 'file.protected'], path)
  }
  const register = '/workspace/.compute/members/ada'
  for (const change of [
    pod.write(register, '0'),
    pod.mkdir(register),
    pod.rename('/tmp', register),
  ])
    assert.deepEqual(codeOf(await change), [400, 'file.protected'])
  for (const path of ['/workspace/tree', '/workspace/out', '/workspace/-rf', '/workspace/slash'])
    assert.equal((await pod.remove(path)).status, 200, path)
  assert.equal(await root('cd /workspace; ls; ls keep; ls -d /root'), 'keep\nx\n/root\n')
  assert.deepEqual(codeOf(await pod.remove('/usr/bin/env')), [403, 'file.forbidden'])
})

test('the mount of the volume is listed where nothing is said, and it and what holds it are protected', async (t) => {
  const compute = await testOnPods(t)
  const { id } = await runningPodOf(compute, { volume_mount_path: '/data/volume' })
  const params = { org: 'org1', pod_id: id }
  for (const path of ['/data/volume', '/data'])
    assert.deepEqual(
      codeOf(await compute.as(officer()).call(deleteFile, { params, body: { path } })),
      [400, 'file.protected'],
    )
  const listed = await compute.as(officer()).call(listFiles, { params, query: {} })
  assert.ok(listed.status === 200)
  assert.equal(listed.body.path, '/data/volume')
})

test('a stopped pod is 409, another org’s is 404', async (t) => {
  const pod = await opened(t)
  assert.equal((await pod.list()).status, 200)
  await pod.as.call(actOnPod, { params: pod.params, body: { action: 'stop' } })
  assert.deepEqual(codeOf(await pod.list()), [409, 'pod.not_running'])
  const stranger = await pod.as.call(listFiles, {
    params: { ...pod.params, pod_id: 'other' },
    query: {},
  })
  assert.equal(stranger.status, 404)
})

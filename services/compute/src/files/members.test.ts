import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, type Opened, opened, rootOf } from './testing.ts'

const HOME = '/workspace/milo'
/** What makes root: a member who has an officer write one of these owns the pod. */
const ROOTS = '/etc/ssh/compute /usr/local/bin /workspace/.compute'
const asMember = (command: string, name = 'milo') =>
  `SSH_ORIGINAL_COMMAND=${JSON.stringify(command)} compute-login ${name}`
const file = (name: string, content = 'x') => new File([content], name)

test('an officer’s changes in a member’s folder follow none of the member’s links', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  const state = () => root(`find ${ROOTS} -type f -exec sha256sum {} + | sort; ls -R ${ROOTS}`)
  await root(
    asMember(
      'ln -s /etc/ssh/compute/authorized_keys homework.txt; ln -s /etc/ssh/compute etc; echo milo >own',
    ),
  )
  const before = await state()
  const refused: [string, () => Promise<{ status: number; body: unknown }>][] = [
    ['upload onto a link', () => pod.upload(HOME, file('homework.txt'))],
    ['write onto a link', () => pod.write(`${HOME}/homework.txt`, 'x')],
    ['upload below a link', () => pod.upload(`${HOME}/etc`, file('authorized_keys'))],
    ['write below a link', () => pod.write(`${HOME}/etc/authorized_keys`, 'x')],
    ['make below a link', () => pod.mkdir(`${HOME}/etc/new`)],
    ['move below a link', () => pod.rename(`${HOME}/own`, `${HOME}/etc/new`)],
    ['move from below a link', () => pod.rename(`${HOME}/etc/user_ca.pub`, `${HOME}/new`)],
    ['delete below a link', () => pod.remove(`${HOME}/etc/user_ca.pub`)],
  ]
  for (const [what, change] of refused)
    assert.deepEqual(codeOf(await change()), [400, 'file.link'], what)
  assert.equal(await state(), before)
  assert.equal((await pod.rename(`${HOME}/etc`, `${HOME}/still`)).status, 200, 'the link itself')
  assert.equal((await pod.remove(`${HOME}/still`)).status, 200, 'the link alone')
  assert.equal(await state(), before)
})

test('an officer’s changes in a member’s folder have the member’s rights alone, and are theirs', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root(asMember('mkdir closed; chmod 0500 closed; ln /etc/passwd hard 2>/dev/null; true'))
  await root(`cd ${HOME}; echo root >of-root; chmod 4755 of-root; mkdir left; touch left/x`)
  assert.equal((await pod.upload(HOME, file('sent'))).status, 200)
  assert.equal((await pod.upload(HOME, file('of-root', 'sh'))).status, 200)
  assert.equal((await pod.mkdir(`${HOME}/made`)).status, 200)
  assert.equal((await pod.rename(`${HOME}/made`, `${HOME}/moved`)).status, 200)
  const seen = await root(`cd ${HOME}; stat -c '%n %U %a' sent of-root moved`)
  assert.equal(seen, 'sent milo 644\nof-root milo 755\nmoved milo 755\n')
  for (const change of [
    pod.write(`${HOME}/closed/x`, 'x'),
    pod.mkdir(`${HOME}/closed/x`),
    pod.rename(`${HOME}/sent`, `${HOME}/closed/x`),
  ])
    assert.deepEqual(codeOf(await change), [403, 'file.forbidden'])
  assert.equal((await pod.remove(`${HOME}/left`)).status, 200, 'also what root left there')
})

test('files and folders move between root’s and members’ folders', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root(asMember('mkdir work; echo milo >work/x; echo own >own', 'milo'))
  await root(asMember('true', 'ada'))
  await root('cd /workspace; mkdir -p tasks/sub; echo task >tasks/sub/x; echo text >sheet')
  const { rename } = pod
  assert.equal((await rename('/workspace/tasks', `${HOME}/tasks`)).status, 200)
  assert.equal((await rename('/workspace/sheet', `${HOME}/sheet`)).status, 200)
  assert.equal((await rename(`${HOME}/work`, '/workspace/ada/work')).status, 200)
  assert.deepEqual(codeOf(await rename(`${HOME}/own`, '/workspace/ada/work')), [409, 'file.exists'])
  assert.equal(
    await root(`cat ${HOME}/tasks/sub/x ${HOME}/sheet /workspace/ada/work/x ${HOME}/own`),
    'task\ntext\nmilo\nown\n',
  )
  const copied = codeOf(await rename('/tmp', `${HOME}/tmp`)) // another disk: root copies nothing here
  assert.deepEqual(copied, [409, 'file.refused'])
  await root('mkdir -m 0777 /workspace/open; mkdir /workspace/kept; mkdir /tmp/a /tmp/b')
  const intoOpen = codeOf(await rename('/tmp/a', '/workspace/open/a'))
  assert.deepEqual(intoOpen, [409, 'file.refused'], 'anybody could swap the copy there')
  assert.equal((await rename('/tmp/b', '/workspace/kept/b')).status, 200, 'nobody could')
})

test('a member who swaps folders for links all the time gets nothing of root’s', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  const state = () => root(`find ${ROOTS} -type f -exec sha256sum {} + | sort; ls -R ${ROOTS}`)
  await root(asMember('mkdir dir; ln -s /etc/ssh/compute link'))
  const before = await state()
  const swapping = root(
    asMember(
      'while [ ! -e stop ]; do mv dir was; mv link dir; mv dir link; mv was dir; rm -f dir/*.part; for f in dir/*; do ln -sf /etc/ssh/compute/user_ca.pub dir/user_ca.pub; done; done',
    ),
  )
  const told = ['file.link', 'file.not_found', 'file.refused', 'file.exists', 'file.forbidden']
  for (let n = 0; n < 10; n++) {
    for (const change of changesIn(pod)) {
      const [status, code] = codeOf(await change())
      if (status !== 200) assert.ok(told.includes(`${code}`), `${code}`)
    }
  }
  await root(`touch ${HOME}/stop`)
  await swapping
  assert.equal(await state(), before)
})

const changesIn = ({ write, mkdir, rename, remove }: Opened) => [
  () => write(`${HOME}/dir/authorized_keys`, 'x'),
  () => mkdir(`${HOME}/dir/new`),
  () => rename(`${HOME}/dir/new`, `${HOME}/dir/other`),
  () => remove(`${HOME}/dir/principals`),
  () => remove(`${HOME}/dir/other`),
]

test('a member cannot keep an officer from sending a file', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root(asMember('ln -s x notes.txt.part; mkdir big.bin.part'))
  for (const name of ['notes.txt', 'big.bin'])
    assert.equal((await pod.upload(HOME, file(name))).status, 200, name)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, opened, rootOf } from './testing.ts'

test('a path with dots, a link to / or a long name leads where it says or is refused', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root('cd /workspace; mkdir d; ln -s / slash; ln -s loop loop; echo x >d/x')
  const { read, write, upload, rename, remove, mkdir, list } = pod
  const long = 'n'.repeat(256)
  const file = (name: string) => new File(['x'], name)
  const kept = [400, 'file.protected']
  const cases: [string, () => Promise<{ status: number; body: unknown }>, unknown[]][] = [
    [
      '.. is worked out before the pod is asked',
      () => read('/workspace/none/../d/x'),
      [200, undefined],
    ],
    ['.. does not climb out of /', () => read('/../../workspace/d/x'), [200, undefined]],
    ['.. into what is protected', () => remove('/workspace/d/..'), kept],
    ['what is protected, through a link to /', () => remove('/workspace/slash/home'), kept],
    ['a change through a link to /', () => remove('/workspace/slash/tmp/x'), [400, 'file.link']],
    [
      'through a link to /, which root may',
      () => read('/workspace/slash/workspace/d/x'),
      [200, undefined],
    ],
    ['a link to itself', () => read('/workspace/loop'), [404, 'file.not_found']],
    ['a link to / itself', () => remove('/workspace/slash'), [200, undefined]],
    ['a name as a path', () => upload('/workspace', file('..')), [400, 'file.name']],
    ['a name of 256 bytes', () => upload('/workspace', file('é'.repeat(128))), [400, 'file.name']],
    [
      'a name of 255 bytes',
      () => upload('/workspace', file(`n${'é'.repeat(127)}`)),
      [200, undefined],
    ],
    ['a folder of 255 bytes', () => mkdir(`/workspace/${'d'.repeat(255)}`), [200, undefined]],
    ['a folder of 256 bytes', () => mkdir(`/workspace/${long}`), [400, 'file.path']],
    ['a file of 256 bytes', () => write(`/workspace/${long}`, 'x'), [400, 'file.path']],
    [
      'a new name of 256 bytes',
      () => rename('/workspace/d', `/workspace/${long}`),
      [400, 'file.path'],
    ],
    ['a folder of 256 bytes listed', () => list(`/workspace/${long}`), [400, 'file.path']],
    ['NUL in a name', () => rename('/workspace/d', '/workspace/a\0b'), [400, 'request.nul']],
  ]
  for (const [what, ask, wanted] of cases) assert.deepEqual(codeOf(await ask()), wanted, what)
})

test('a folder that becomes a link while a file is sent: what bears its name is whole', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root('mkdir /workspace/d /workspace/other')
  const text = 'x'.repeat(300_000)
  assert.equal((await pod.write('/workspace/d/f', text)).status, 200)
  // swaps the folder and back again as fast as the shell can, until it is told to stop
  const swapping = root(
    'cd /workspace; echo; while [ ! -e stop ]; do mv d was; ln -s other d; rm d; mv was d; done',
  )
  const refusals = ['file.not_found', 'file.refused', 'file.link']
  for (let n = 0; n < 40; n++) {
    const [status, code] = codeOf(await pod.write('/workspace/d/f', text))
    if (status !== 200) assert.ok(refusals.includes(`${code}`), `${code}`)
  }
  await root('touch /workspace/stop')
  await swapping
  const sizes = await root('find /workspace/d /workspace/other -name f -printf "%s\\n" | sort -u')
  assert.equal(sizes, '300000\n')
})

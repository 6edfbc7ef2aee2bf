import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, type Opened, opened } from './testing.ts'

const dir = '/workspace/d'
type Change = (pod: Opened) => Promise<{ status: number; body: unknown }>

/** Every route that changes files, in an order in which each succeeds, and what the audit log keeps of it. */
const changes: [string, Change, object][] = [
  ['folder_made', ({ mkdir }) => mkdir(`${dir}/`), { path: dir }],
  ['uploaded', ({ upload }) => upload(dir, new File(['text'], 'a')), { path: `${dir}/a`, size: 4 }],
  ['written', ({ write }) => write(`${dir}/x/../b`, 'text'), { path: `${dir}/b`, size: 4 }],
  [
    'renamed',
    ({ rename }) => rename(`${dir}/a`, `${dir}/c`),
    { old_path: `${dir}/a`, new_path: `${dir}/c` },
  ],
  ['deleted', ({ remove }) => remove(dir), { path: dir }],
]

/** What is refused, of which the audit log tells nothing. */
const refused: Change[] = [
  ({ mkdir }) => mkdir('/none/there'),
  ({ upload }) => upload('/none', new File(['text'], 'a')),
  ({ write }) => write('/workspace', 'text'),
  ({ rename }) => rename('/none', '/workspace/none'),
  ({ remove }) => remove('/workspace'),
]

test('each change of files is told to the audit log once, with its pod and path and no content', async (t) => {
  const pod = await opened(t)
  for (const change of refused) {
    const [status] = codeOf(await change(pod))
    assert.ok(Number(status) >= 400 && Number(status) < 500, `${status}`)
  }
  for (const [action, change] of changes) assert.equal((await change(pod)).status, 200, action)
  const rows = await pod.db.selectFrom('outbox').select('payload').orderBy('id').execute()
  const told = rows
    .map(({ payload }) => payload as { action?: string; details?: object })
    .filter(({ action }) => action?.startsWith('compute.file.'))
    .map(({ action, details }) => [action, details])
  const { pod_id } = pod.params
  assert.deepEqual(
    told,
    changes.map(([action, , said]) => [`compute.file.${action}`, { pod_id, ...said }]),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { callOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { opened } from './testing.ts'

const caller = {
  token_id: '01890000-0000-7000-8000-00000000000a',
  token_kind: 'agent' as const,
  name: 'helper',
  scopes: ['compute:manage'],
}
const org = { id: 1, prefix: 'org1', name: 'Org 1', modules: ['compute'], publisher: false }

test('before a tool replaces a file the file is shown, or why there is none to show', async (t) => {
  const { settings, pod, read, write } = await opened(t)
  const mcp = await busAs(t, { url: settings.NATS_URL, peer: 'mcp' })
  const tool = tools.find(({ name }) => name === 'compute.write_file') ?? assert.fail()
  const preview = async (path: string, pod_id = pod.id) => {
    const input = { pod_id, path, content: 'new' }
    const { answer } = await ask(mcp, callOf(tool), { caller, org, input, preview: true })
    return answer as { code?: string; content?: string }
  }
  const path = '/workspace/a.txt'
  assert.equal((await preview(path)).code, 'file.not_found')
  assert.equal((await write(path, 'old')).status, 200)
  assert.deepEqual(await preview(path), { path, content: 'old' })
  assert.equal((await write(path, '\n'.repeat(600_000))).status, 200)
  assert.equal((await preview(path)).code, 'tool.answer_too_large')
  await assert.rejects(preview(path, 'nopod'), { code: 'pod.not_found' })
  const { body } = await read(path)
  assert.ok('content' in body && body.content.length === 600_000, 'nothing was written')
})

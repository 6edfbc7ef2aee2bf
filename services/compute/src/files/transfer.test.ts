import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { pathOf } from '@guildhall/contracts/client'
import { actOnPod, getPod } from '@guildhall/contracts/compute'
import { MOST_FILE_BYTES, uploadFile } from '@guildhall/contracts/pod-files'
import {
  CALLER_HEADER,
  callerKey,
  type Identity,
  signIdentity,
} from '@guildhall/service/caller-token'
import { until } from '@guildhall/service/testing'
import { officer } from '../testing.ts'
import { codeOf, type Opened, opened, rootOf } from './testing.ts'

const ofBytes = (bytes: number) => new File([Buffer.alloc(bytes, 'guildhall')], 'été 1.bin')

test('a file of 100 MB goes up and down, one byte more leaves nothing', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  const sent = await pod.upload('/workspace', ofBytes(MOST_FILE_BYTES))
  assert.deepEqual(sent.body, { path: '/workspace/été 1.bin', size: MOST_FILE_BYTES })
  const more = await pod.upload('/workspace', ofBytes(MOST_FILE_BYTES + 1))
  assert.deepEqual(codeOf(more), [413, 'file.too_large'])
  assert.equal(await root('ls -A /workspace | grep -v "^.compute$"'), 'été 1.bin\n')
  const got = await pod.download('/workspace/été 1.bin')
  assert.ok(got.status === 200)
  let [bytes, wrong] = [0, 0]
  for await (const chunk of got.body) {
    if (bytes === 0 && !Buffer.from(chunk).toString('latin1').startsWith('guildhallguild')) wrong++
    bytes += chunk.length
  }
  assert.deepEqual([bytes, wrong], [MOST_FILE_BYTES, 0])
  await root('truncate -s 104857601 /workspace/long')
  assert.deepEqual(codeOf(await pod.download('/workspace/long')), [413, 'file.too_large'])
})

test('a form may have its fields in either order, and one file', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  const file = new File(['first'], 'a.txt')
  const body = { file, path: '/workspace' } // the client sends it in this order
  const late = await pod.as.call(uploadFile, { params: pod.params, body })
  assert.deepEqual(late.body, { path: '/workspace/a.txt', size: 5 })
  assert.equal(await root('cat /workspace/a.txt'), 'first')
  const both = { path: '/workspace', file: [file, new File(['second'], 'b.txt')] as never }
  const two = await pod.as.call(uploadFile, { params: pod.params, body: both })
  assert.deepEqual(codeOf(two), [400, 'file.too_many'])
  const none = await pod.as.call(uploadFile, { params: pod.params, body: { file } as never })
  assert.deepEqual(codeOf(none), [400, 'request.invalid'])
  assert.equal(await root('ls -A /workspace | grep -v "^.compute$"'), 'a.txt\n')
})

test('of ten who send the same file at once all are done or told to wait, and it is whole', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  const files = Array.from(
    { length: 10 },
    (_, n) => new File([String(n).repeat(3_000_000)], 'same'),
  )
  const replies = await Promise.all(files.map((file) => pod.upload('/workspace', file)))
  for (const reply of replies)
    if (reply.status !== 200) assert.deepEqual(codeOf(reply), [429, 'pod.busy'])
  assert.ok(replies.some(({ status }) => status === 200))
  const seen = await root(
    'stat -c %s /workspace/same; tr -d "$(head -c 1 /workspace/same)" </workspace/same | wc -c',
  )
  assert.equal(seen, '3000000\n0\n')
})

/** The beginning of an upload of 50 MB to /workspace/cut. */
function beginUpload(pod: Opened) {
  const [target, path] = [{ service: 'compute', method: 'POST' } as const, pathOf(uploadFile, pod)]
  const key = callerKey(pod.settings.INTERNAL_KEY, 'compute')
  const identity = { ...officer(), request_id: 'test' } as Identity
  const outgoing = request(pod.url + path, {
    method: 'POST',
    headers: {
      [CALLER_HEADER]: signIdentity(identity, { ...target, path }, key),
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': 50_000_000,
    },
  })
  outgoing.on('error', () => {}) // either side hangs up
  const field = '--b\r\ncontent-disposition: form-data; name='
  outgoing.write(`${field}"path"\r\n\r\n/workspace\r\n${field}"file"; filename="cut"\r\n\r\n`)
  outgoing.write(Buffer.alloc(8_000_000))
  return outgoing
}

test('an upload that breaks off leaves nothing', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  const outgoing = beginUpload(pod)
  const names = () => root('ls -A /workspace')
  await until(async () => /^cut\.\w{10}\.part$/m.test(await names()))
  outgoing.destroy()
  await until(async () => !(await names()).includes('cut'))
})

test('a pod that stops while a file is sent: an error, and no half file', async (t) => {
  const pod = await opened(t)
  const before = await rootOf(t, pod)
  const outgoing = beginUpload(pod)
  let status: number | undefined
  outgoing.on('response', (answer) => {
    status = answer.resume().statusCode
  })
  await until(async () => (await before('ls -A /workspace')).includes('.part'))
  await pod.as.call(actOnPod, { params: pod.params, body: { action: 'stop' } })
  await until(() => {
    if (!status) outgoing.write(Buffer.alloc(100_000))
    return status
  }, 60_000)
  assert.equal(status, 502)
  outgoing.destroy()

  await pod.as.call(actOnPod, { params: pod.params, body: { action: 'start' } })
  const port = await until(async () => {
    const seen = await pod.as.call(getPod, { params: pod.params })
    return seen.status === 200 && seen.body.pod.status === 'RUNNING' && seen.body.pod.port
  }, 60_000)
  const root = await rootOf(t, { ...pod, pod: { ...pod.pod, port } })
  assert.match(await root('cd /workspace; ls'), /^(cut\.\w{10}\.part\n)?$/)
  const sent = await pod.upload('/workspace', new File(['whole'], 'cut'))
  assert.equal(sent.status, 200)
  assert.equal(await root('cat /workspace/cut'), 'whole')
})

test('a pod that is stopped in the middle ends the transfers with an error', async (t) => {
  const pod = await opened(t)
  const root = await rootOf(t, pod)
  await root('head -c 90000000 /dev/zero >/workspace/big')
  const got = await pod.download('/workspace/big')
  assert.ok(got.status === 200)
  const body = got.body[Symbol.asyncIterator]()
  assert.ok(!(await body.next()).done)
  await pod.as.call(actOnPod, { params: pod.params, body: { action: 'stop' } })
  await assert.rejects(async () => {
    while (!(await body.next()).done);
  })
})

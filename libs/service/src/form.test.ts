import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  MOST_UPLOAD_FILE_BYTES,
  MOST_UPLOAD_FILES,
  uploadDocuments,
} from '@guildhall/contracts/knowledge'
import { createApp } from './app.ts'
import { CALLER_HEADER, callerKey, signIdentity } from './caller-token.ts'
import { createLog } from './log.ts'

const key = callerKey('66'.repeat(32), 'knowledge')
const path = '/api/dashboard/chess/knowledge/documents'
const identity = {
  caller: {
    kind: 'officer',
    chat_user_id: '12345',
    username: 'ada',
    token_id: 't',
    expires_at: 0,
    superadmin: false,
  },
  org: { id: 1, prefix: 'chess', name: 'Chess', modules: [], publisher: false },
  request_id: 'r',
} as const
const none = { files: [], indexed: 0, unchanged: 0, failed: 0 }

/** Sends a form to a knowledge that only remembers what it was given. */
async function uploader(t: TestContext) {
  const given: {
    files: { name: string; bytes: Uint8Array }[]
    category: string
    public: boolean
  }[] = []
  const log = createLog('knowledge', { format: 'json', level: 'silent' })
  const app = createApp({ service: 'knowledge', log, callerKey: key, ready: {} })
  app.implement(uploadDocuments, async ({ body }) => {
    given.push(body)
    return none
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const send = async (body: FormData | string, headers: Record<string, string> = {}) => {
    const target = { service: 'knowledge', method: 'POST', path } as const
    const signed = signIdentity(identity, target, key)
    const init = { method: 'POST', body, headers: { ...headers, [CALLER_HEADER]: signed } }
    const response = await fetch(url + path, init)
    const { code } = (await response.json()) as { code?: string }
    return { status: response.status, code }
  }
  return { send, given }
}

function form(files: Blob[], fields: Record<string, string> = {}, field = 'files') {
  const made = new FormData()
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  for (const [i, file] of files.entries()) made.append(field, file, `${i}.txt`)
  return made
}
const ofBytes = (bytes: number) => new Blob([Buffer.alloc(bytes, 'x')])

test('a form arrives as its fields and its files, whatever their order', async (t) => {
  const { send, given } = await uploader(t)
  const body = form([new Blob(['één']), new Blob([])])
  body.append('category', 'laws')
  body.append('public', 'true')
  assert.equal((await send(body)).status, 200)

  const [{ files = [], category, public: open } = {}] = given
  assert.deepEqual([category, open], ['laws', true])
  assert.deepEqual(
    files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]),
    [
      ['0.txt', 'één'],
      ['1.txt', ''],
    ],
  )
})

test('one file more than the contract allows is refused', async (t) => {
  const { send, given } = await uploader(t)
  const files = (count: number) => form(Array.from({ length: count }, () => ofBytes(1)))
  assert.equal((await send(files(MOST_UPLOAD_FILES))).status, 200)
  assert.deepEqual(await send(files(MOST_UPLOAD_FILES + 1)), { status: 400, code: 'file.too_many' })
  assert.equal(given.length, 1)
})

test('a file too large is refused and never cut off', async (t) => {
  const { send, given } = await uploader(t)
  assert.equal((await send(form([ofBytes(MOST_UPLOAD_FILE_BYTES)]))).status, 200)
  assert.equal(given[0]?.files[0]?.bytes.length, MOST_UPLOAD_FILE_BYTES)
  const reply = await send(form([ofBytes(MOST_UPLOAD_FILE_BYTES + 1)]))
  assert.deepEqual(reply, { status: 413, code: 'file.too_large' })
  assert.equal(given.length, 1)
})

test('files that are too large together are refused', async (t) => {
  const { send, given } = await uploader(t)
  const nine = ofBytes(9 * 1024 * 1024)
  assert.deepEqual(await send(form([nine, nine, nine])), {
    status: 413,
    code: 'request.too_large',
  })
  assert.equal(given.length, 0)
})

test('a file in another field, or none at all, is refused', async (t) => {
  const { send } = await uploader(t)
  const stray = await send(form([ofBytes(1)], {}, 'attachment'))
  assert.deepEqual(stray, { status: 400, code: 'file.field' })
  assert.deepEqual(await send(form([], { category: 'x' })), { status: 400, code: 'file.missing' })
})

test('a text field too long is refused and never cut off', async (t) => {
  const { send, given } = await uploader(t)
  const reply = await send(form([ofBytes(1)], { note: 'x'.repeat(64 * 1024 + 1) }))
  assert.deepEqual(reply, { status: 413, code: 'field.too_large' })
  assert.equal(given.length, 0)
})

test('a field that does not fit its schema is refused as any body', async (t) => {
  const { send } = await uploader(t)
  const reply = await send(form([ofBytes(1)], { folder: '../secret' }))
  assert.deepEqual(reply, { status: 400, code: 'request.invalid' })
})

test('JSON where a form is wanted is 415', async (t) => {
  const { send } = await uploader(t)
  const reply = await send('{}', { 'content-type': 'application/json' })
  assert.deepEqual(reply, { status: 415, code: 'request.media_type' })
})

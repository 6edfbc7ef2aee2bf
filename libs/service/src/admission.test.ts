import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { uploadDocuments } from '@guildhall/contracts/knowledge'
import { createApp } from './app.ts'
import { CALLER_HEADER, callerKey, signIdentity } from './caller-token.ts'
import { AppError } from './errors.ts'
import { createLog } from './log.ts'
import { until } from './testing.ts'

const key = callerKey('66'.repeat(32), 'knowledge')
const path = '/api/dashboard/chess/knowledge/documents'
const officer = { kind: 'officer', chat_user_id: '12345', username: 'ada', token_id: 't' } as const
const org = { id: 1, prefix: 'chess', name: 'Chess', modules: [], publisher: false }
const identity = { caller: { ...officer, expires_at: 0, superadmin: false }, org, request_id: 'r' }

/** A knowledge that takes one upload at a time, and keeps it in hand until `held` is over. */
async function oneAtATime(t: TestContext) {
  const world = { inHand: 0, ended: 0, handling: 0, held: Promise.resolve() }
  const log = createLog('knowledge', { format: 'json', level: 'silent' })
  const app = createApp({ service: 'knowledge', log, callerKey: key, ready: {} })
  const handler = async () => {
    world.handling++
    await world.held
    return { files: [], indexed: 0, unchanged: 0, failed: 0 }
  }
  app.implement(uploadDocuments, handler, ({ org: whose }) => {
    if (world.inHand > 0) throw new AppError('rate_limited', 'document.busy', `${whose?.id} waits`)
    world.inHand++
    return () => {
      world.inHand--
      world.ended++
    }
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const signed = () => {
    const target = { service: 'knowledge', method: 'POST', path } as const
    return { [CALLER_HEADER]: signIdentity(identity, target, key) }
  }
  const send = async (fields: Record<string, string> = {}, signal?: AbortSignal) => {
    const body = new FormData()
    for (const [name, value] of Object.entries(fields)) body.append(name, value)
    body.append('files', new Blob(['x']), 'a.txt')
    const init = { method: 'POST', body, headers: signed(), ...(signal && { signal }) }
    return (await fetch(url + path, init)).status
  }
  return { world, url, signed, send }
}

test('a form is admitted before its body has come, and refused so where too many are in hand', async (t) => {
  const { world, url, signed, send } = await oneAtATime(t)
  const headers = { ...signed(), 'content-type': 'multipart/form-data; boundary=x' }
  const begun = request(url + path, { method: 'POST', headers })
  begun.on('error', () => undefined)
  begun.write('--x\r\n') // the rest never comes
  await until(() => world.inHand === 1)
  assert.equal(await send(), 429)
  begun.destroy()
  await until(() => world.inHand === 0)
  assert.equal(await send(), 200)
})

test('it is over once, when it is answered or refused, and not before its work has ended', async (t) => {
  const { world, send } = await oneAtATime(t)
  assert.equal(await send({ folder: '../secret' }), 400)
  await until(() => world.ended === 1)
  assert.equal(await send(), 200)
  assert.deepEqual([world.ended, world.inHand], [2, 0])

  const held = Promise.withResolvers<void>()
  world.held = held.promise
  const leaving = new AbortController()
  const left = assert.rejects(send({}, leaving.signal))
  await until(() => world.handling === 2)
  leaving.abort() // nobody waits for the answer any more
  await left
  assert.equal(await send(), 429)
  held.resolve()
  await until(() => world.inHand === 0)
  assert.equal(await send(), 200)
  assert.equal(world.ended, 4)
})

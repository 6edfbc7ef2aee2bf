import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { testSandbox } from '../testing.ts'

const DECODE = 4002
const OPCODE = 4001
const HELLO = /"op":10/

/** The gateway of a sandbox of its own, and the origin of its pages. */
async function testGateway(t: TestContext) {
  const { origin } = new URL((await testSandbox(t)).chatApiUrl)
  return { origin, url: `${origin.replace(/^http/, 'ws')}/chat/gateway` }
}

test('junk ends its own connection alone', async (t) => {
  const { url } = await testGateway(t)
  const codeFor = async (junk: string | Uint8Array) => {
    const socket = new WebSocket(url)
    await once(socket, 'message')
    socket.send(junk)
    const [code] = await once(socket, 'close')
    return code
  }
  for (const d of ['', ',"d":null', ',"d":{}', ',"d":[]', ',"d":{"token":1,"intents":"x"}']) {
    assert.equal(await codeFor(`{"op":2${d}}`), DECODE, `identify ${d}`)
    assert.equal(await codeFor(`{"op":6${d}}`), DECODE, `resume ${d}`)
  }
  for (const junk of ['', 'x', 'null', '[]', '{"op":"2"}', Buffer.from([0xff, 0])])
    assert.equal(await codeFor(junk), DECODE, String(junk))
  assert.equal(await codeFor('{"op":99,"d":null}'), OPCODE)
})

test('a web page of another origin has no connection', async (t) => {
  const { origin: ours, url } = await testGateway(t)
  for (const origin of ['https://evil.example', 'null']) {
    const socket = new WebSocket(url, { origin })
    await assert.rejects(once(socket, 'open'), /socket hang up/, origin)
  }
  const own = new WebSocket(url, { origin: ours })
  t.after(() => own.terminate())
  const [hello] = await once(own, 'message')
  assert.match(String(hello), HELLO)
})

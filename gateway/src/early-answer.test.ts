import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { MOST_FILE_BYTES, uploadFile } from '@guildhall/contracts/pod-files'
import { type Route, route } from '@guildhall/contracts/route'
import { answerError } from '@guildhall/service/answer-error'
import { lingers } from '@guildhall/service/linger'
import { cleanUp } from '@guildhall/service/testing'
import Fastify from 'fastify'
import { checkLength, forward } from './forward.ts'

const CHUNK = Buffer.alloc(1024 * 1024)
const small = route({ ...uploadFile, maxBytes: 1024 * 1024 })

/** The address of the gateway's way to a service that answers as `listener` does. */
async function wayTo(t: TestContext, upload: Route, listener: RequestListener): Promise<number> {
  const service = createServer(listener).listen(0, '127.0.0.1')
  cleanUp(t, async () => void service.close().closeAllConnections())
  await once(service, 'listening')
  const agent = new Agent({ keepAlive: true })
  cleanUp(t, async () => agent.destroy())
  const url = new URL(`http://127.0.0.1:${(service.address() as AddressInfo).port}`)
  const app = Fastify({ forceCloseConnections: true })
  app.setErrorHandler(answerError)
  lingers(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_req, body, done) => done(null, body))
  app.post('/', { onRequest: async (req) => checkLength(req, upload) }, (req, reply) =>
    forward(req, reply, { route: upload, agent, service: url, headers: {} }),
  )
  cleanUp(t, () => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** Sends all of a body before it reads a byte, as browsers do, and answers what it then reads. */
async function sendAll(port: number, { bytes, framing }: { bytes: number; framing: string }) {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  const failed = once(socket, 'close').then(() => assert.fail('The connection was cut'))
  failed.catch(() => {})
  const write = (piece: string | Uint8Array) =>
    socket.write(piece) ? undefined : Promise.race([once(socket, 'drain'), failed])
  const isChunked = framing.startsWith('transfer-encoding')
  await write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-type: a/b\r\n${framing}\r\n\r\n`)
  for (let sent = 0; sent < bytes; sent += CHUNK.length) {
    const piece = CHUNK.subarray(0, Math.min(CHUNK.length, bytes - sent))
    if (isChunked) await write(`${piece.length.toString(16)}\r\n`)
    await write(piece)
    if (isChunked) await write('\r\n')
  }
  if (isChunked) await write('0\r\n\r\n')
  const [answer] = (await Promise.race([once(socket, 'data'), failed])) as [Buffer]
  socket.destroy()
  return answer.toString('latin1')
}

const refuses: RequestListener = (_req, res) => res.writeHead(403).end('{"code":"early"}')

test('a client that sends 100 MB and one byte reads the refusal that came before their end', async (t) => {
  const port = await wayTo(t, uploadFile, refuses)
  const bytes = MOST_FILE_BYTES + 1
  for (const framing of [
    `content-length: ${bytes}`,
    'transfer-encoding: chunked',
    `connection: close\r\ncontent-length: ${bytes}`,
  ]) {
    const answer = await sendAll(port, { bytes, framing })
    assert.match(answer, /^HTTP\/1.1 403 .*"code":"early"/s, framing)
  }
})

test('a body that is longer than the route permits is a 413 that can be read', async (t) => {
  const port = await wayTo(t, small, (req, res) => req.resume().on('end', () => res.end('{}')))
  const bytes = MOST_FILE_BYTES + 1
  for (const framing of [`content-length: ${bytes}`, 'transfer-encoding: chunked']) {
    const answer = await sendAll(port, { bytes, framing })
    assert.match(answer, /^HTTP\/1.1 413 .*"code":"request.too_large"/s, framing)
  }
})

test('who goes on sending after the answer is cut off', async (t) => {
  const port = await wayTo(t, small, refuses)
  const bytes = 4 * 1024 * MOST_FILE_BYTES
  const sent = sendAll(port, { bytes, framing: `content-length: ${bytes}` })
  await assert.rejects(sent, /cut|EPIPE|ECONNRESET/)
})

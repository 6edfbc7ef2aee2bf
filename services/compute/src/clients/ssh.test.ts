import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { AppError } from '@guildhall/service/errors'
import { cleanUp } from '@guildhall/service/testing'
import ssh2, { type Connection } from 'ssh2'
import { readHostKey } from './host-key.ts'
import { openRemote } from './ssh.ts'

const pem = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ format: 'pem', type: 'sec1' })
    .toString()

const LONG_MS = 30_000
const SHORT_MS = 200
const changed = () => new AppError('upstream', 'pod.host_key_changed', 'another key')

/** An SSH server that lets everybody in and then does as it is told; how far its guests came. */
async function server(t: TestContext, serve: (connection: Connection) => void) {
  const came = { asked: 0, closed: 0 }
  const opened = new ssh2.Server({ hostKeys: [pem()] }, (connection) => {
    connection.on('error', () => {})
    connection.on('close', () => came.closed++)
    connection.on('authentication', (context) => {
      came.asked++
      context.accept()
    })
    connection.on('ready', () => serve(connection))
  })
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => void opened.close())
  const address = { host: '127.0.0.1', port: (opened.address() as AddressInfo).port }
  return { came, target: { ...address, privateKey: pem(), hostKey: null, changed } }
}

test('a server with another host key than the pinned one is told nothing', async (t) => {
  const { came, target } = await server(t, () => assert.fail('somebody signed in'))
  const pinned = await server(t, () => {})
  const hostKey = await readHostKey(pinned.target)
  await assert.rejects(openRemote({ ...target, hostKey }), { code: 'pod.host_key_changed' })
  assert.equal(came.asked, 0)
})

test('a server that never opens SFTP is given up', async (t) => {
  const { target } = await server(t, () => {}) // no session is answered
  const patience = { answerMs: SHORT_MS, commandMs: LONG_MS }
  await assert.rejects(openRemote(target, patience), { code: 'pod.ssh_unreachable' })
})

test('an exchange or a command without an answer ends the connection', async (t) => {
  const { target } = await server(t, (connection) =>
    connection.on('session', (accept) => {
      accept()
        .on('sftp', (open) => void open().on('STAT', () => {}))
        .on('exec', (open) => void open())
    }),
  )
  const ended = /The SSH connection ended/
  const patience = { answerMs: LONG_MS, commandMs: SHORT_MS }
  const busy = await openRemote(target, patience)
  await assert.rejects(busy.run('sleep 9'), ended)
  const slow = await openRemote(target, patience)
  patience.answerMs = SHORT_MS // only now: how long the opening takes is not what is looked at
  await assert.rejects(
    slow.ask((done) => slow.sftp.stat('/', done)),
    ended,
  )
  await assert.rejects(
    slow.ask((done) => slow.sftp.stat('/', done)),
    ended,
    'and the next one fails at once',
  )
})

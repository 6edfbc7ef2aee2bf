import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { cleanUp, until } from '@guildhall/service/testing'
import { quietLog as log, testSandbox } from '../testing.ts'
import { forwardPort } from './forward.ts'
import { asPerson, asRoot, memberOf, podhostClient, sshOptions, testKeys } from './testing.ts'

async function open(t: TestContext) {
  const { podhostUrl, world } = await testSandbox(t)
  const keys = await testKeys(t)
  const pod = await podhostClient(podhostUrl, world.keys.podhost).create(keys.env)
  const certificate = await keys.certificate(memberOf(pod.id, 'alice'))
  return { keys, pod, certificate, podhostUrl }
}

/** A server on the machine's loopback, and how many came. */
async function machineServer(t: TestContext) {
  const came = { connections: 0 }
  const server = createServer((socket) => {
    came.connections += 1
    socket.end('the machine\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, async () => void server.close())
  return { came, port: (server.address() as { port: number }).port }
}

test('a pod has a loopback of its own and reaches nothing of the machine', async (t) => {
  const { keys, pod, certificate, podhostUrl } = await open(t)
  const { came, port } = await machineServer(t)
  const opens = (to: string | number) => `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${to}'`
  const looks = [
    (command: string) => asRoot(keys, pod, command),
    (command: string) => asPerson(keys, pod, certificate, command),
  ]
  for (const look of looks) {
    assert.equal((await look(opens(22))).code, 0, 'its own loopback is up')
    for (const closed of [port, new URL(podhostUrl).port, String(pod.ssh.direct?.port)])
      assert.match((await look(opens(closed))).stderr, /Connection refused/)
    const { stdout } = await look('tail -n +3 /proc/net/dev | cut -d: -f1')
    assert.equal(stdout.trim(), 'lo')
  }
  assert.equal(came.connections, 0)
  const changed = await asRoot(keys, pod, 'echo 1 >/proc/sys/net/ipv4/ip_unprivileged_port_start')
  assert.match(changed.stderr, /Permission denied/)
})

test('ssh -L leads to a server in the pod, on a low port too', async (t) => {
  const { keys, pod, certificate } = await open(t)
  await asRoot(keys, pod, '/usr/sbin/sshd -p 80 -o VersionAddendum=inside -o PidFile=none')
  const port = await freePort()
  const wait = 'while [ ! -e done ]; do sleep 0.1; done'
  const forward = ['-L', `127.0.0.1:${port}:127.0.0.1:80`]
  const session = asPerson(keys, pod, certificate, wait, forward)
  const greeting = await until(() => firstLine(port).catch(() => undefined))
  assert.match(greeting, /^SSH-2\.0-.* inside\r$/)
  await asRoot(keys, pod, 'touch /workspace/alice/done')
  assert.equal((await session).code, 0)
})

async function freePort(): Promise<number> {
  const free = await forwardPort({ podPid: () => undefined, to: 22, log })
  free.close()
  return free.port
}

async function firstLine(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const [data] = await once(socket, 'data')
  socket.destroy()
  return String(data).split('\n')[0] ?? ''
}

test('eight sessions that are open at once carry what each is sent, and back', async (t) => {
  const { keys, pod, certificate } = await open(t)
  await asPerson(keys, pod, certificate, 'mkdir open')
  const port = String(pod.ssh.direct?.port)
  const options = [...sshOptions(keys.person, certificate), '-p', port, 'root@127.0.0.1']
  const all = await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      const sent = `${n}`.repeat(500_000)
      const command = `touch open/${n}; while [ $(ls open | wc -l) -lt 8 ]; do sleep 0.1; done; cat`
      const { stdout, stderr } = await keys.run('ssh', [...options, command], sent)
      return stdout === sent || stderr
    }),
  )
  assert.deepEqual(all, Array(8).fill(true))
})

test('a pod that is down, or not yet in a network of its own, is closed to connections', async (t) => {
  const { came, port: to } = await machineServer(t)
  for (const pid of [undefined, process.pid, 2 ** 22 + 1]) {
    const forward = await forwardPort({ podPid: () => pid, to, log })
    cleanUp(t, async () => forward.close())
    assert.equal(await text(connect(forward.port, '127.0.0.1')), '', String(pid))
  }
  assert.equal(came.connections, 0)
})

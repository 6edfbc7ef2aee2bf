import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testSandbox } from '../testing.ts'
import { type Exchange, openPodhostOfficial } from './official.ts'
import { gpuPod, podhostClient } from './testing.ts'

const MISSING = 'skipped: podhost-runpod-v2.json is not here, shapes were not checked'
const cpuPod = {
  name: 'pod-cpu',
  image: 'guildhall/pod',
  cpu: { id: 'cpu3c', vcpuCount: 2 },
  ports: ['22/tcp'],
}

/** A client that keeps what it sends and gets. */
async function recorded(t: TestContext) {
  const exchanges: Exchange[] = []
  const { world, podhostUrl } = await testSandbox(t)
  const host = podhostClient(podhostUrl, world.keys.podhost)
  const ask = async (method: string, path: string, sent?: unknown, by = host) => {
    const { status, headers, body } = await by.ask(method, path, sent)
    const contentType = headers.get('content-type')
    const answer = body === '' ? undefined : body
    exchanges.push({ method, path, sent, status, contentType, body: answer })
    return { status, headers, body }
  }
  return { exchanges, world, host, ask, stranger: podhostClient(podhostUrl, 'wrong-key') }
}

async function askEverything({ world, host, ask, stranger }: Awaited<ReturnType<typeof recorded>>) {
  const { body: pod } = await ask('POST', '/pods', { ...gpuPod, env: { A: 'b' } })
  const { body: cpu } = await ask('POST', '/pods', cpuPod)
  const one = `/pods/${pod.id}`
  await host.become(pod.id, 'RUNNING')
  for (const path of ['/pods', one, `${one}/logs`, '/pods/unknown']) await ask('GET', path)
  await ask('PATCH', one, { name: 'renamed', locked: true })
  await ask('POST', `${one}/action`, { action: 'stop' })
  await ask('PATCH', one, { locked: false })
  for (const action of ['restart', 'stop', 'stop', 'start', 'dance'])
    await ask('POST', `${one}/action`, { action })
  await ask('POST', '/pods', { ...gpuPod, cpu: cpuPod.cpu })
  await ask('POST', '/pods', { ...gpuPod, bogus: 1 })
  await ask('DELETE', `/pods/${cpu.id}`)
  await ask('POST', `${one}/action`, { action: 'terminate' })
  await ask('GET', '/pods', undefined, stranger)
  for (const fault of ['down', 'rate_limited', 'no_capacity', 'fails_after_create'] as const) {
    world.faults.podhost = fault
    await ask('POST', '/pods', cpuPod)
  }
}

test('every request that is accepted and every answer fits the official description', async (t) => {
  const faultsOf = await openPodhostOfficial()
  const asked = await recorded(t)
  await askEverything(asked)
  const statuses = new Set(asked.exchanges.map(({ status }) => status))
  const expected = [200, 201, 204, 400, 401, 404, 409, 422, 429, 500, 503]
  assert.deepEqual([...statuses].sort(), expected)
  if (!faultsOf) return t.diagnostic(MISSING)
  assert.deepEqual(asked.exchanges.flatMap(faultsOf), [])
  t.diagnostic(`${asked.exchanges.length} exchanges fit the description`)
})

test('the check finds what is wrong in a path, a request and an answer', async (t) => {
  const faultsOf = await openPodhostOfficial()
  if (!faultsOf) return t.diagnostic(MISSING)
  const { exchanges, ask } = await recorded(t)
  await ask('POST', '/pods', gpuPod)
  const [good] = exchanges
  assert.ok(good)
  const faults = (changes: Partial<Exchange>) => faultsOf({ ...good, ...changes }).join('; ')
  assert.equal(faults({}), '')
  assert.match(faults({ path: '/machines' }), /is not described/)
  assert.match(faults({ sent: { ...gpuPod, imageName: 'x' } }), /request .*unevaluated/)
  assert.match(faults({ body: { id: 'x' } }), /201 .*must have required property/)
  assert.match(faults({ contentType: 'text/html' }), /is text\/html/)
  assert.match(faults({ status: 404 }), /404 is application\/json/)
})

test('faults are switched on and off for the next request', async (t) => {
  const { world, ask, host } = await recorded(t)
  world.faults.podhost = 'rate_limited'
  world.faults.podhostRetryAfterSeconds = 7
  const limited = await ask('GET', '/pods')
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '7'])
  world.faults.podhost = 'fails_after_create'
  const env = { CLI_POD_RECORD: '0190f5a2-0000-7000-8000-000000000000' }
  assert.equal((await ask('POST', '/pods', { ...gpuPod, env })).status, 500)
  world.faults.podhost = 'no_capacity'
  assert.equal((await ask('POST', '/pods', gpuPod)).status, 400)
  const { body } = await ask('GET', '/pods')
  assert.deepEqual(
    body.pods.map((pod: { env: object }) => pod.env),
    [env],
  )
  world.faults.podhost = undefined
  await host.become(body.pods[0].id, 'RUNNING')
})

test('what breaks a rule of the host is refused with its reason', async (t) => {
  const { ask } = await recorded(t)
  const persistent = (path: string) => ({ ...gpuPod, mounts: { persistent: { size: 20, path } } })
  const rules = [
    [{ ...cpuPod, mounts: gpuPod.mounts }, /not supported on CPU pods/],
    [{ ...cpuPod, cpu: { id: 'cpu3c', vcpuCount: 3 } }, /power of two/],
    [{ ...gpuPod, gpu: { id: 'NVIDIA Unheard Of', count: 1 } }, /no instances available/],
    [persistent('/usr/share'), /cannot mount/],
    [persistent('/a/../etc'), /cannot mount/],
  ] as const
  for (const [body, reason] of rules) {
    const answer = await ask('POST', '/pods', body)
    assert.equal(answer.status, 400)
    assert.match(answer.body.detail, reason)
  }
  const nul = await ask('POST', '/pods', { ...gpuPod, env: { A: 'b\0LD_PRELOAD=x' } })
  assert.equal(nul.status, 422)
})

import { randomBytes, randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'
import { openPodhostOfficial } from '@guildhall/sandbox/podhost/official'
import { cleanUp } from '@guildhall/service/testing'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { hostKeyServer } from './testing-host-key.ts'

export const PODHOST_KEY = 'podhost-key'

interface Stood {
  id: string
  status: string
  startedAt: string | null
  [field: string]: unknown
}

/**
 * What goes wrong with the next request of a kind, once each. `lost` is a 500 after success; `stuck` is
 * never carried out and `unanswered` is, and neither is ever answered. `quotes` is a long refusal that
 * ends with the environment that was sent.
 */
export type Fault =
  | 'limited'
  | 'capacity'
  | 'quotes'
  | 'lost'
  | 'garbage'
  | 'failing'
  | 'silent'
  | 'stuck'
  | 'unanswered'

/**
 * The pod host in a test, over the wire, as far as compute asks it. Pods run at once, and what answers at
 * their SSH address shows a host key and lets nobody in. `wrong` gathers all that differs from the official
 * description, where that is on this machine (see `officialDescription`).
 */
export async function testPodhost(t: Pick<TestContext, 'after'>) {
  const differences = await openPodhostOfficial()
  const ssh = await hostKeyServer(t)
  const world = {
    pods: new Map<string, Stood>(),
    faults: [] as { at: string; fault: Fault }[],
    asked: [] as string[],
    wrong: [] as string[],
    /** Requests that are left without an answer. */
    waiting: 0,
    /** Ends those: whoever asked learns nothing. */
    hangUp: () => {},
    /** False where the official description is missing: then nothing was compared. */
    checked: differences !== undefined,
    ssh,
  }
  const app = Fastify({ forceCloseConnections: true })
  app.addHook('onRequest', async (req, reply) => {
    if (req.headers.authorization !== `Bearer ${PODHOST_KEY}`)
      return problem(reply, 401, 'invalid API key')
  })
  app.addHook('preHandler', async (req, reply) => {
    const at = `${req.method} ${req.routeOptions.url}`
    world.asked.push(at)
    const fault = takeFault(world.faults, at)
    if (fault === 'silent') return reply.hijack().raw.destroy()
    if (fault === 'stuck') return stay(reply, world)
    if (fault && fault in REFUSALS) return REFUSALS[fault]?.(reply)
    if (fault) reply.header('x-fault', fault)
  })
  app.addHook('preSerialization', async (_req, reply, body) => {
    if (reply.statusCode >= 300) return body
    if (reply.getHeader('x-fault') === 'garbage') return { pods: 7 }
    if (reply.getHeader('x-fault') !== 'lost') return body
    reply.code(500)
    return { title: 'Internal', status: 500, detail: 'lost' }
  })
  app.addHook('onSend', async (req, reply, answered) => {
    if (reply.getHeader('x-fault') === 'unanswered') return stay(reply, world)
    const contentType = String(reply.getHeader('content-type') ?? '') || null
    const isLog = contentType?.startsWith('text/event-stream')
    if (!differences || reply.getHeader('x-fault') || isLog) return answered
    const body = answered ? JSON.parse(String(answered)) : undefined
    const [path, sent] = [req.url.replace('/v2', ''), req.body]
    const { statusCode: status } = reply
    world.wrong.push(...differences({ method: req.method, path, sent, status, contentType, body }))
    return answered
  })
  podRoutes(app, world)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  cleanUp(t, () => app.close())
  return { world, url: `${url}/v2` }
}

/** Whoever asked waits until they end, or `hangUp`. */
function stay(reply: FastifyReply, world: Pick<World, 'waiting' | 'hangUp'>) {
  reply.hijack()
  world.waiting++
  const others = world.hangUp
  world.hangUp = () => {
    others()
    reply.raw.destroy()
  }
  return new Promise<never>(() => {})
}

function takeFault(faults: { at: string; fault: Fault }[], at: string): Fault | undefined {
  const found = faults.findIndex((one) => one.at === at)
  return found < 0 ? undefined : faults.splice(found, 1)[0]?.fault
}

const REFUSALS: Partial<Record<Fault, (reply: FastifyReply) => FastifyReply>> = {
  limited: (reply) => problem(reply.header('retry-after', '0'), 429, 'slow down'),
  capacity: (reply) => problem(reply, 400, 'no instances available'),
  quotes: (reply) => problem(reply, 400, `${'-'.repeat(490)}${environmentIn(reply)}`),
  failing: (reply) => problem(reply, 500, 'upstream failure'),
}

const environmentIn = ({ request }: FastifyReply) =>
  Object.values((request.body as { env: Record<string, string> }).env).join(' ')

/** The states in which the host takes an action (podAction in the official description). */
const FROM: Record<string, string[]> = {
  start: ['EXITED', 'ERROR'],
  stop: ['RUNNING', 'STARTING', 'PROVISIONING'],
  restart: ['RUNNING'],
}

type World = Awaited<ReturnType<typeof testPodhost>>['world']

function podRoutes(app: FastifyInstance, world: Pick<World, 'pods' | 'ssh'>) {
  app.get('/v2/pods', async () => ({
    pods: [...world.pods.values()].map((pod) => shown(pod, world)),
  }))
  app.get<{ Params: { id: string } }>('/v2/pods/:id', async ({ params: { id } }, reply) => {
    const pod = world.pods.get(id)
    return pod ? shown(pod, world) : problem(reply, 404, 'pod not found')
  })
  app.get<{ Params: { id: string } }>('/v2/pods/:id/logs', async ({ params: { id } }, reply) => {
    const pod = world.pods.get(id)
    const line = `cannot run it\n with ${JSON.stringify(pod?.env)}`
    const event = { ts: new Date().toISOString(), source: 'system', line }
    return reply.type('text/event-stream').send(`data: ${JSON.stringify(event)}\n\n`)
  })
  app.post('/v2/pods', async (req, reply) => {
    const id = randomBytes(7).toString('hex')
    const { gpu, cpu, ...body } = req.body as Record<string, { id: string }>
    const machine = cpu ? { cpu: { ...cpu, memory: 4 } } : { gpu }
    const pod = { id, status: 'RUNNING', startedAt: new Date().toISOString(), ...machine, ...body }
    world.pods.set(id, pod)
    return reply.code(201).send(shown(pod, world))
  })
  app.delete<{ Params: { id: string } }>('/v2/pods/:id', async (req, reply) =>
    world.pods.delete(req.params.id)
      ? reply.code(204).send()
      : problem(reply, 404, 'pod not found'),
  )
  app.post<{ Params: { id: string }; Body: { action: string } }>(
    '/v2/pods/:id/action',
    async ({ params: { id }, body: { action } }, reply) => {
      const pod = world.pods.get(id)
      if (!pod) return problem(reply, 404, 'pod not found')
      if (!FROM[action]?.includes(pod.status))
        return problem(reply, 409, `cannot ${action} a pod that is ${pod.status}`)
      pod.status = action === 'stop' ? 'EXITED' : 'RUNNING'
      if (action !== 'stop') pod.startedAt = new Date(Date.now() + randomInt(1e9)).toISOString()
      return shown(pod, world)
    },
  )
}

function shown(pod: Stood, { ssh }: Pick<World, 'ssh'>) {
  const { host, port } = ssh
  const direct = { host, port, username: 'root', command: `ssh root@${host} -p ${port}` }
  const runs = pod.status === 'RUNNING'
  return {
    actions: [],
    args: '',
    mounts: {},
    registry: null,
    dataCenterId: null,
    cudaVersion: null,
    template: null,
    locked: false,
    runtime: null,
    createdAt: '2026-01-01T00:00:00Z',
    globalNetworking: { enabled: false },
    ...pod,
    cost: runs ? 0.25 : 0,
    ssh: { proxy: null, direct: runs ? direct : null },
  }
}

const problem = (reply: FastifyReply, status: number, detail: string) =>
  reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify({ title: 'Refused', status, detail }))

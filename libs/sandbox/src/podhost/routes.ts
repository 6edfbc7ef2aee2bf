import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { World } from '../world.ts'
import { podhostFault, spoiled } from './faults.ts'
import { type Pod, stateOf } from './life.ts'
import { type Pods, patched } from './pods.ts'
import { refuse, refuseShape } from './refuse.ts'
import { brokenRule, NewPod, PodAction, PodPatch } from './shapes.ts'
import { actionsOf, shown } from './shown.ts'

const PATH = '/podhost/v2'

/** The API of the pod host (RunPod REST v2): pods, each account's own, and what happens to them. */
export function podhostRoutes(app: FastifyInstance, { world, pods }: { world: World; pods: Pods }) {
  const preHandler = async (req: FastifyRequest, reply: FastifyReply) => {
    if (accountOf(world, req) === undefined) return refuse(reply, 401, 'invalid bearer token')
    return podhostFault(world, req, reply)
  }
  const preSerialization = (req: FastifyRequest, reply: FastifyReply, body: unknown) =>
    spoiled(world, req, reply, body)
  const api = { preHandler, preSerialization }
  const found = (req: FastifyRequest) =>
    pods.find(accountOf(world, req) ?? '', (req.params as { id: string }).id)

  app.get(`${PATH}/pods`, api, (req) => ({
    pods: pods.list(accountOf(world, req) ?? '').map(shown),
  }))
  app.post(`${PATH}/pods`, api, async (req, reply) => {
    const config = NewPod.safeParse(req.body)
    if (!config.success) return refuseShape(reply, config.error)
    const broken = brokenRule(config.data)
    if (broken) return refuse(reply, 400, broken)
    const pod = await pods.create(accountOf(world, req) ?? '', config.data)
    if (!pod) return refuse(reply, 400, 'there are no instances currently available')
    return reply.code(201).send(shown(pod))
  })
  app.get(`${PATH}/pods/:id`, api, async (req, reply) => {
    const pod = found(req)
    return pod ? shown(pod) : unknown(reply)
  })
  app.patch(`${PATH}/pods/:id`, api, async (req, reply) => {
    const pod = found(req)
    if (!pod) return unknown(reply)
    const patch = PodPatch.safeParse(req.body)
    if (!patch.success) return refuseShape(reply, patch.error)
    const broken = brokenChange(pod, patch.data)
    if (broken) return refuse(reply, 400, broken)
    await pods.change(pod, patch.data)
    return shown(pod)
  })
  app.delete(`${PATH}/pods/:id`, api, async (req, reply) => {
    const pod = found(req)
    if (!pod) return unknown(reply)
    await pods.act(pod, 'terminate')
    if (world.faults.podhost === 'fails_after') return refuse(reply, 500, 'internal error')
    return reply.code(204).send()
  })
  app.post(`${PATH}/pods/:id/action`, api, async (req, reply) => {
    const pod = found(req)
    if (!pod) return unknown(reply)
    const asked = PodAction.safeParse(req.body)
    if (!asked.success) return refuseShape(reply, asked.error)
    const { action } = asked.data
    if (!actionsOf(pod).includes(action))
      return refuse(reply, 409, `cannot ${action} a pod that is ${stateOf(pod)}`)
    await pods.act(pod, action)
    return action === 'terminate' ? reply.code(204).send() : shown(pod)
  })
  app.get(`${PATH}/pods/:id/logs`, api, async (req, reply) => {
    const pod = found(req)
    return pod ? sendLog(reply, pod) : unknown(reply)
  })
}

/** The account is known by a hash, as its records lie on disk. */
function accountOf({ keys, otherPodhostKeys = [] }: World, { headers }: FastifyRequest) {
  const key = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
  if (![keys.podhost, ...otherPodhostKeys].includes(key)) return undefined
  return createHash('sha256').update(key).digest('hex')
}

const unknown = (reply: FastifyReply) => refuse(reply, 404, 'pod not found')

function brokenChange({ record }: Pod, { locked: _, ...patch }: PodPatch) {
  const { mounts = {} } = patch
  if ((mounts.persistent || mounts.network) && !record.config.mounts.persistent)
    return 'a mount cannot be added to a pod that was made without one'
  return brokenRule(patched(record.config, patch))
}

/** The lines so far, as server-sent events; the real host keeps the stream open. */
function sendLog(reply: FastifyReply, { lines }: Pod) {
  const events = lines.map(({ ts, line }, n) => {
    const id = `${ts}/${String(n + 1).padStart(12, '0')}`
    return `id: ${id}\ndata: ${JSON.stringify({ ts, source: 'system', line })}\n\n`
  })
  const headers = { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }
  return reply.headers(headers).type('text/event-stream').send(events.join(''))
}

import { type OutboundAnswer, type OutboundRequest, outbound } from '@guildhall/outbound/fetch'
import type { z } from 'zod'
import {
  explained,
  failed,
  type Hide,
  keyRefused,
  notConnected,
  refused,
  unreadable,
  wrongState,
} from './podhost-errors.ts'
import { lastLogLine } from './podhost-log.ts'
import { HostPod, type HostPodPatch, HostPods, type NewHostPod } from './podhost-shapes.ts'

/** Making and changing a pod takes the host so much longer than anything else. */
const SLOW_TIMES = 3
/** Refusals that carry a reason. */
const REFUSALS = [400, 401, 403, 404, 409, 422]
const SERVER_ERRORS = [500, 501, 502, 503, 504]

export type HostAction = 'start' | 'stop' | 'restart'
export type PodHost = ReturnType<typeof createPodHost>

interface Asked extends Partial<OutboundRequest> {
  orgId: number
  path: string
}

interface Options {
  url: string
  /** How long the host may take for one answer. */
  timeoutMs: number
  keyOf: (orgId: number) => Promise<string | undefined>
}

/**
 * The pod host's REST API v2, each org with its own key. Throws `podhost.refused` (400) with the host's
 * reason, `podhost.not_connected` (503) for an org without a key, and else 502. `hide` takes out of that
 * reason what nobody may read: the host may quote what it was sent.
 */
export function createPodHost({ url, timeoutMs, keyOf }: Options) {
  const slowMs = SLOW_TIMES * timeoutMs
  const base = url.replace(/\/+$/, '')

  async function send({ orgId, path, ...rest }: Asked): Promise<OutboundAnswer> {
    const key = await keyOf(orgId)
    if (!key) throw notConnected()
    const headers = { authorization: `Bearer ${key}`, accept: 'application/json' }
    const accept = rest.accept ?? REFUSALS
    const request = { service: 'podhost', url: base + path, headers, timeoutMs }
    const answer = await outbound({ ...request, ...rest, accept }).catch(explained)
    if ([401, 403].includes(answer.status)) throw keyRefused()
    return answer
  }

  return {
    /** Throws as any call for it would, where the org has no key. */
    async checkConnected(orgId: number) {
      if (!(await keyOf(orgId))) throw notConnected()
    },

    async list(orgId: number): Promise<HostPod[]> {
      const answer = await send({ orgId, path: '/pods' })
      if (answer.status !== 200) throw failed(answer)
      return read(HostPods, answer).pods
    },

    /** One pod as it is now; nothing where the host does not know it. */
    async find(orgId: number, id: string): Promise<HostPod | undefined> {
      const answer = await send({ orgId, path: `/pods/${encodeURIComponent(id)}` })
      if (answer.status === 404) return undefined
      if (answer.status !== 200) throw failed(answer)
      return read(HostPod, answer)
    },

    /** Retried only where the host asks for patience (429): a second sending could make a second pod. */
    async create(orgId: number, body: NewHostPod, hide?: Hide): Promise<HostPod> {
      const answer = await send({
        orgId,
        path: '/pods',
        method: 'POST',
        body,
        timeoutMs: slowMs,
        accept: [...REFUSALS, ...SERVER_ERRORS],
      })
      if (REFUSALS.includes(answer.status)) throw refused(answer, hide)
      if (answer.status >= 500) throw failed(answer, hide)
      return read(HostPod, answer)
    },

    /** Sets what the pod runs from its next start on; nothing where the host does not know it. Sent twice it is the same. */
    async change(orgId: number, id: string, body: HostPodPatch, hide?: Hide) {
      const path = `/pods/${encodeURIComponent(id)}`
      const asked = { orgId, path, method: 'PATCH', body, idempotent: true }
      const answer = await send({ ...asked, timeoutMs: slowMs })
      if (answer.status === 404) return undefined
      if (REFUSALS.includes(answer.status)) throw refused(answer, hide)
      return read(HostPod, answer)
    },

    /** The pod as it is afterwards; nothing where the host does not know it. Throws 409 in the wrong state. */
    async act(orgId: number, id: string, action: HostAction, hide?: Hide) {
      const path = `/pods/${encodeURIComponent(id)}/action`
      const asked = { orgId, path, method: 'POST', body: { action } }
      const answer = await send({ ...asked, accept: [...REFUSALS, ...SERVER_ERRORS] })
      if (answer.status === 404) return undefined
      if ([400, 409, 422].includes(answer.status)) throw wrongState(action, answer, hide)
      if (answer.status >= 500) throw failed(answer, hide)
      return read(HostPod, answer)
    },

    /** The last line of the host's own log of a pod; nothing where it says none at once. */
    async lastLine(orgId: number, id: string, hide: Hide): Promise<string | undefined> {
      const key = await keyOf(orgId)
      const path = `/pods/${encodeURIComponent(id)}`
      return key && lastLogLine(base + path, { authorization: `Bearer ${key}` }, hide)
    },

    /** Deletes the pod and its volume; a pod that the host does not know is as good as deleted. */
    async remove(orgId: number, id: string): Promise<void> {
      const path = `/pods/${encodeURIComponent(id)}`
      const answer = await send({ orgId, path, method: 'DELETE' })
      if (![200, 202, 204, 404].includes(answer.status)) throw failed(answer)
    },
  }
}

function read<S extends z.ZodType>(schema: S, answer: OutboundAnswer): z.output<S> {
  const parsed = schema.safeParse(jsonOf(answer))
  if (parsed.success) return parsed.data
  throw unreadable()
}

/** Nothing that any schema takes, where the body is no JSON. */
function jsonOf(answer: OutboundAnswer): unknown {
  try {
    return answer.json()
  } catch {
    return undefined
  }
}

import { type OutboundAnswer, type OutboundRequest, outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'
import {
  HostPod,
  type HostPodPatch,
  HostPods,
  HostProblem,
  type NewHostPod,
} from './podhost-shapes.ts'

/** Of one answer; making a pod takes the host longest. */
const TIMEOUT_MS = 10_000
const CREATE_TIMEOUT_MS = 30_000
/** Refusals that carry a reason. */
const REFUSALS = [400, 401, 403, 404, 409, 422]
const SERVER_ERRORS = [500, 501, 502, 503, 504]
/** How much of the host's reason is passed on. */
const MOST_REASON_CHARS = 500

/** Errors that say for certain that the host did nothing. */
const CERTAIN = ['podhost.refused', 'podhost.key_refused', 'podhost.rate_limited']
const NOT_SENT = ['podhost.not_connected', 'podhost.misconfigured']

export type HostAction = 'start' | 'stop' | 'restart'
export type PodHost = ReturnType<typeof createPodHost>

interface Asked extends Partial<OutboundRequest> {
  orgId: number
  path: string
}

/**
 * The pod host's REST API v2, each org with its own key. Throws `podhost.refused` (400) with the host's
 * reason, `podhost.not_connected` (503) for an org without a key, and else 502.
 */
export function createPodHost({
  url,
  keyOf,
}: {
  url: string
  keyOf: (orgId: number) => Promise<string | undefined>
}) {
  const base = url.replace(/\/+$/, '')

  async function send({ orgId, path, ...rest }: Asked): Promise<OutboundAnswer> {
    const key = await keyOf(orgId)
    if (!key) throw notConnected()
    const headers = { authorization: `Bearer ${key}`, accept: 'application/json' }
    const accept = rest.accept ?? REFUSALS
    const request = { service: 'podhost', url: base + path, headers, timeoutMs: TIMEOUT_MS }
    const answer = await outbound({ ...request, ...rest, accept })
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

    /** Retried only where the host asks for patience (429): a second sending could make a second pod. */
    async create(orgId: number, body: NewHostPod): Promise<HostPod> {
      const answer = await send({
        orgId,
        path: '/pods',
        method: 'POST',
        body,
        timeoutMs: CREATE_TIMEOUT_MS,
        accept: [...REFUSALS, ...SERVER_ERRORS],
      })
      if (REFUSALS.includes(answer.status)) throw refused(answer)
      if (answer.status >= 500) throw failed(answer)
      return read(HostPod, answer)
    },

    /** Sets what the pod runs from its next start on; nothing where the host does not know it. Sent twice it is the same. */
    async change(orgId: number, id: string, body: HostPodPatch): Promise<HostPod | undefined> {
      const path = `/pods/${encodeURIComponent(id)}`
      const asked = { orgId, path, method: 'PATCH', body, idempotent: true }
      const answer = await send({ ...asked, timeoutMs: CREATE_TIMEOUT_MS })
      if (answer.status === 404) return undefined
      if (REFUSALS.includes(answer.status)) throw refused(answer)
      return read(HostPod, answer)
    },

    /** The pod as it is afterwards; nothing where the host does not know it. Throws 409 in the wrong state. */
    async act(orgId: number, id: string, action: HostAction): Promise<HostPod | undefined> {
      const path = `/pods/${encodeURIComponent(id)}/action`
      const asked = { orgId, path, method: 'POST', body: { action } }
      const answer = await send({ ...asked, accept: [...REFUSALS, ...SERVER_ERRORS] })
      if (answer.status === 404) return undefined
      if ([400, 409, 422].includes(answer.status)) throw wrongState(action, answer)
      if (answer.status >= 500) throw failed(answer)
      return read(HostPod, answer)
    },

    /** Deletes the pod and its volume; a pod that the host does not know is as good as deleted. */
    async remove(orgId: number, id: string): Promise<void> {
      const path = `/pods/${encodeURIComponent(id)}`
      const answer = await send({ orgId, path, method: 'DELETE' })
      if (![200, 202, 204, 404].includes(answer.status)) throw failed(answer)
    },
  }
}

/** True where it is certain that a pod was not made; after any other error it may be there. */
export const isNotMade = (error: unknown) =>
  error instanceof AppError && [...CERTAIN, ...NOT_SENT].includes(error.code)

function read<S extends z.ZodType>(schema: S, answer: OutboundAnswer): z.output<S> {
  const parsed = schema.safeParse(answer.json())
  if (parsed.success) return parsed.data
  throw new AppError(
    'upstream',
    'podhost.unreadable',
    'The pod host answered something else than its description says; try again, and tell the operator',
  )
}

function reasonOf(answer: OutboundAnswer): string {
  try {
    const { detail, errors = [] } = HostProblem.parse(answer.json())
    return [detail, ...errors].join('; ').slice(0, MOST_REASON_CHARS)
  } catch {
    return `it answered ${answer.status} without a reason`
  }
}

const refused = (answer: OutboundAnswer) =>
  new AppError(
    'invalid',
    'podhost.refused',
    `The pod host refuses this: ${reasonOf(answer)}. Change the values, or try again where it has no capacity.`,
  )

const wrongState = (action: string, answer: OutboundAnswer) =>
  new AppError(
    'conflict',
    'pod.wrong_state',
    `The pod host does not ${action}: ${reasonOf(answer)}`,
  )

const failed = (answer: OutboundAnswer) =>
  new AppError('upstream', 'podhost.failed', `The pod host failed: ${reasonOf(answer)}`)

const keyRefused = () =>
  new AppError(
    'upstream',
    'podhost.key_refused',
    "The pod host refuses the org's API key: make a new one there and set it as podhost_api_key",
  )

const notConnected = () =>
  new AppError(
    'unavailable',
    'podhost.not_connected',
    'The org has not connected a pod host: set podhost_api_key under Integrations',
  )

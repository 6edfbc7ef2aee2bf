import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'

/** Answers as the pod host refuses: a problem document. */
export function refuse(reply: FastifyReply, status: number, detail: string, errors?: string[]) {
  const body = problemOf(status, detail, errors)
  return reply.code(status).type('application/problem+json').send(body)
}

/** A problem document (RFC 9457). */
export const problemOf = (status: number, detail: string, errors?: string[]) => ({
  title: STATUS_CODES[status],
  status,
  detail,
  ...(errors && { errors }),
})

/** Answers a body that does not fit the description. */
export function refuseShape(reply: FastifyReply, { issues }: z.ZodError) {
  const errors = issues.map(({ path, message }) => `$.${path.join('.')}: ${message}`)
  return refuse(reply, 422, 'Request validation failed.', errors)
}

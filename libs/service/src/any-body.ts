import type { FastifyRequest } from 'fastify'
import { checkStorable } from './storable.ts'

/**
 * For routes that are never refused for their body (`anyBody`): whatever the client calls it is read as JSON, and
 * what is no JSON is none. To be called before the body is read.
 */
export function takeAnyBody({ headers }: Pick<FastifyRequest, 'headers'>) {
  headers['content-type'] = 'application/json'
}

/** Such a body, where nothing in it is what Postgres cannot keep; else none. */
export function storableOrNone(body: unknown): unknown {
  try {
    checkStorable(body)
    return body
  } catch {
    return {}
  }
}

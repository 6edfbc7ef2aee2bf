import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from './caller-token.ts'

/**
 * Says whether a request may be taken in hand, before anything of its body is in memory: throws where not, else answers what is
 * called once it is over, however it ends.
 */
export type Admit = (identity: Identity) => () => void

/** What is to be called when a request ends, and whether its handler sees to that. */
const inHand = new WeakMap<FastifyRequest, { leave: () => void; handled: boolean }>()

/** Reads the body of a request that is admitted. One that never comes to its handler, as it is not valid, ends with its connection or answer. */
export async function admitted(
  req: FastifyRequest,
  reply: FastifyReply,
  admit: Admit | undefined,
  read: () => Promise<unknown> | undefined,
): Promise<unknown> {
  if (!admit || !req.identity) return read()
  const state = { leave: once(admit(req.identity)), handled: false }
  try {
    const body = await read()
    inHand.set(req, state)
    const drop = () => state.handled || state.leave()
    if (reply.raw.closed)
      setImmediate(drop) // by then its handler has begun, or never will
    else reply.raw.once('close', drop)
    return body
  } catch (error) {
    state.leave()
    throw error
  }
}

/** Does the work of a request that was admitted: it is in hand until this ends, also where nobody waits for the answer any more. */
export async function untilDone<Result>(req: FastifyRequest, work: () => Promise<Result> | Result) {
  const state = inHand.get(req)
  if (state) state.handled = true
  try {
    return await work()
  } finally {
    state?.leave()
  }
}

function once(leave: () => void): () => void {
  let left = false
  return () => {
    if (!left) leave()
    left = true
  }
}

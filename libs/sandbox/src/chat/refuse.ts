import type { FastifyReply } from 'fastify'

/** Discord's refusals: status, JSON error code and message (its reference, Opcodes and Status Codes). */
const REFUSALS = {
  bad_request: [400, 0, '400: Bad Request'],
  unauthorized: [401, 0, '401: Unauthorized'],
  not_found: [404, 0, '404: Not Found'],
  down: [503, 0, 'Service Unavailable'],
  unknown_guild: [404, 10_004, 'Unknown Guild'],
  unknown_member: [404, 10_007, 'Unknown Member'],
  unknown_user: [404, 10_013, 'Unknown User'],
  missing_access: [403, 50_001, 'Missing Access'],
  unknown_channel: [404, 10_003, 'Unknown Channel'],
  unknown_webhook: [404, 10_015, 'Unknown Webhook'],
  unknown_interaction: [404, 10_062, 'Unknown interaction'],
  already_acknowledged: [400, 40_060, 'Interaction has already been acknowledged.'],
  missing_permissions: [403, 50_013, 'Missing Permissions'],
  invalid_form: [400, 50_035, 'Invalid Form Body'],
} as const

/** Answers as Discord refuses. */
export function refuse(reply: FastifyReply, why: keyof typeof REFUSALS) {
  const [status, code, message] = REFUSALS[why]
  return reply.code(status).send({ message, code })
}

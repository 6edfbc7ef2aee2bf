import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { AppError, databaseAway, isDatabaseAway, STATUS } from './errors.ts'

/** Fastify's own refusals, in our words. Codes: fastify.dev/docs/latest/Reference/Errors. */
const FASTIFY: Record<string, AppError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: new AppError(
    'too_large',
    'request.too_large',
    'The body is too large',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new AppError(
    'unsupported',
    'request.media_type',
    'Send the body as application/json',
  ),
  FST_ERR_CTP_EMPTY_JSON_BODY: new AppError(
    'invalid',
    'request.not_json',
    'The body is empty; send JSON',
  ),
  FST_ERR_CTP_INVALID_JSON_BODY: new AppError(
    'invalid',
    'request.not_json',
    'The body is not JSON',
  ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new AppError(
    'invalid',
    'request.length',
    'The body is not as long as Content-Length says',
  ),
  FST_ERR_BAD_URL: new AppError('invalid', 'request.url', 'The path is not a valid URL'),
  FST_REQ_FILE_TOO_LARGE: new AppError('too_large', 'file.too_large', 'A file is too large'),
  FST_FILES_LIMIT: new AppError('invalid', 'file.too_many', 'Too many files'),
  FST_INVALID_MULTIPART_CONTENT_TYPE: new AppError(
    'unsupported',
    'request.media_type',
    'Send the body as multipart/form-data',
  ),
}

/** Turns whatever was thrown into a Problem. What nobody foresaw is logged and told to nobody. */
export function answerError(thrown: unknown, req: FastifyRequest, reply: FastifyReply) {
  const error = known(thrown)
  if (error instanceof AppError) {
    if (error.cause && STATUS[error.kind] >= 500)
      req.log.warn({ err: error, ...about(req) }, error.message)
    const { message, code, details, retryAfter } = error
    if (retryAfter) reply.header('retry-after', retryAfter)
    return reply
      .code(STATUS[error.kind])
      .send({ error: message, code, ...(details && { details }) })
  }
  if (hasZodFastifySchemaValidationErrors(error)) {
    const place = { params: '/path', querystring: '/query', body: '/body', headers: '/headers' }
    const base =
      place[(error as { validationContext?: keyof typeof place }).validationContext ?? 'body']
    const details = error.validation.flatMap(({ instancePath, message, params }) => {
      const path = base + instancePath.replace(/\/$/, '')
      const unknown = (params as { keys?: unknown }).keys // those that a strict object refuses
      return Array.isArray(unknown)
        ? unknown.map((key) => ({ path: `${path}/${key}`, message: 'is no field of it' }))
        : [{ path, message: message ?? 'is not accepted' }]
    })
    const said = details.map(({ path, message }) => `${path}: ${message}`).join('; ')
    return reply.code(400).send({ error: said, code: 'request.invalid', details })
  }
  const { statusCode, message } = error as { statusCode?: unknown; message: string }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500)
    return reply.code(statusCode).send({ error: message, code: 'request.refused' })
  req.log.error({ err: error, ...about(req) }, 'A request failed')
  return reply
    .code(500)
    .send({ error: 'Internal error', code: 'internal', request_id: String(req.id) })
}

/** What a log line says of its request, besides the id that the request's own log has. */
const about = ({ method, routeOptions }: FastifyRequest) => ({
  route: `${method} ${routeOptions.url}`,
})

function known(thrown: unknown) {
  const error: unknown = thrown instanceof Error ? thrown : new Error(`Thrown: ${String(thrown)}`)
  if (isDatabaseAway(error)) return databaseAway(error)
  const { code, name } = error as { code?: string; name?: string }
  if (code && FASTIFY[code]) return FASTIFY[code]
  // what our own JSON parser throws has a status and no code
  if (name === 'SyntaxError' && (error as { statusCode?: number }).statusCode === 400)
    return FASTIFY.FST_ERR_CTP_INVALID_JSON_BODY
  return error
}

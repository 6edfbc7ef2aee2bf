import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import type { World } from '../world.ts'
import { LENGTH, type Model } from './model.ts'

const MOST_INPUTS = 64
const BODY_BYTES = 8 * 1024 * 1024
/** OpenAI's rule of thumb for English. */
const CHARS_PER_TOKEN = 4

const Text = z.string('input must be a text or a list of texts').min(1, 'input must not be empty')
const Asked = z.object({
  model: z.string('you must provide a model parameter').min(1, 'model must not be empty'),
  input: z
    .union([Text.transform((text) => [text]), z.array(Text)], {
      error: 'input must be a text or a list of texts, none of them empty',
    })
    .refine(({ length }) => length > 0, 'input must not be empty')
    .refine(({ length }) => length <= MOST_INPUTS, `input holds at most ${MOST_INPUTS} texts`),
  encoding_format: z
    .enum(['float', 'base64'], 'encoding_format must be float or base64')
    .optional(),
  dimensions: z.literal(LENGTH, `dimensions must be ${LENGTH}`).optional(),
})

interface Deps {
  world: World
  model: Model
}

/** The embeddings route of an OpenAI-compatible service. */
export function embeddingRoutes(app: FastifyInstance, { world, model }: Deps) {
  app.register(
    async (api) => {
      api.setErrorHandler((error, _req, reply) => {
        const { statusCode = 503, message } = error as { statusCode?: number; message: string }
        return refuse(reply, statusCode, message)
      })
      api.setNotFoundHandler((req, reply) =>
        refuse(reply, 404, `Unknown request URL: ${req.method} ${req.url}`),
      )
      api.post('/embeddings', { bodyLimit: BODY_BYTES }, async (req, reply) => {
        if (world.faults.embeddings === 'down')
          return refuse(reply, 503, 'The server is overloaded')
        if (!hasKey(req.headers.authorization, world)) {
          return refuse(reply, 401, 'Incorrect API key provided', 'invalid_api_key')
        }
        const asked = Asked.safeParse(req.body)
        if (!asked.success) return refuse(reply, 400, asked.error.issues[0]?.message ?? '')
        const vectors = await model.embed(asked.data.input)
        return reply.send(answer(asked.data, vectors))
      })
    },
    { prefix: '/embeddings/v1' },
  )
}

function answer(
  { model, input, encoding_format }: z.output<typeof Asked>,
  vectors: Float32Array[],
) {
  const chars = input.reduce((sum, { length }) => sum + length, 0)
  const tokens = Math.ceil(chars / CHARS_PER_TOKEN)
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: encoding_format === 'base64' ? base64(vector) : [...vector],
    })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** Little-endian 32-bit floats, as OpenAI's own clients ask for. */
const base64 = ({ buffer }: Float32Array) => Buffer.from(buffer as ArrayBuffer).toString('base64')

const hasKey = (authorization: string | undefined, { embeddingsKey }: World) =>
  embeddingsKey === undefined || authorization === `Bearer ${embeddingsKey}`

function refuse(reply: FastifyReply, status: number, message: string, code: string | null = null) {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error'
  return reply.code(status).send({ error: { message, type, param: null, code } })
}

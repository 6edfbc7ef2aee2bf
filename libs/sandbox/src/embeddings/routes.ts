import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { World } from '../world.ts'
import type { Model } from './model.ts'

const MOST_INPUTS = 64
const Asked = z.object({
  model: z.string(),
  input: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(MOST_INPUTS)]),
})

/** The embeddings route of an OpenAI-compatible service. */
export function embeddingRoutes(
  app: FastifyInstance,
  { world, model }: { world: World; model: Model },
) {
  app.post('/embeddings/v1/embeddings', { bodyLimit: 8 * 1024 * 1024 }, async (req, reply) => {
    if (world.faults.embeddings === 'down')
      return reply.code(503).send(problem('The server is overloaded', 'server_error'))
    const asked = Asked.safeParse(req.body)
    if (!asked.success)
      return reply
        .code(400)
        .send(problem(asked.error.issues[0]?.message ?? 'invalid', 'invalid_request_error'))
    const texts = [asked.data.input].flat()
    const vectors = await Promise.all(texts.map((text) => model.embed(text)))
    const tokens = texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0)
    return {
      object: 'list',
      model: asked.data.model,
      data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }
  })
}

const problem = (message: string, type: string) => ({
  error: { message, type, param: null, code: null },
})

import type { FastifyInstance } from 'fastify'

const RESULTS = 3

/** A web search (SearXNG's JSON) that finds something for whatever it is asked. */
export function webSearchRoutes(app: FastifyInstance) {
  app.get<{ Querystring: { q?: string; format?: string } }>('/web-search/search', (req, reply) => {
    const { q = '', format } = req.query
    if (format !== 'json') return reply.code(403).send('Forbidden')
    if (!q.trim()) return reply.code(400).send('No query')
    const results = Array.from({ length: RESULTS }, (_, n) => ({
      url: `https://result${n + 1}.example/?q=${encodeURIComponent(q)}`,
      title: `Result ${n + 1} for ${q}`,
      content: 'The sandbox made this result up.',
      engine: 'sandbox',
    }))
    return reply.send({ query: q, number_of_results: RESULTS, results })
  })
}

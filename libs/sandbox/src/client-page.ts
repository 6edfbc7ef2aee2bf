import type { FastifyInstance } from 'fastify'
import { escapeHtml, page } from './html.ts'

/** Where a demo sign-in ends, in place of a real client: it shows the one-time code and how to exchange it. */
export function clientPage(app: FastifyInstance, gatewayUrl: string) {
  app.get<{ Querystring: { code?: string; error?: string } }>(
    '/client/auth/',
    async ({ query: { code, error } }, reply) => {
      reply.type('text/html; charset=utf-8')
      if (!code)
        return page(
          'Not signed in',
          `<p role="alert">${escapeHtml(error ?? 'There is no code.')}</p>`,
        )
      const command = `curl -s ${gatewayUrl}/api/auth/exchange -H 'content-type: application/json' -d '{"code":"${code}"}'`
      return page(
        'Signed in',
        `<p>This one-time code counts 60 seconds. Exchange it for your tokens:</p><pre>${escapeHtml(command)}</pre>`,
      )
    },
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { escapeHtml, PAGE_HEADERS, page } from './html.ts'

const Returned = z.object({ code: z.string().optional(), error: z.string().optional() })

/** The shell stops and says so where the person has not set it. */
const UNKNOWN_GATEWAY = `"\${GATEWAY_URL:?set it to the address of the gateway}"`

/**
 * Where demo sign-ins end, in place of a real client: an officer's shows the one-time code and how to exchange
 * it, a member's what their session opens.
 */
export function clientPage(app: FastifyInstance, gatewayUrl: string | undefined) {
  const gateway = gatewayUrl || UNKNOWN_GATEWAY
  app.get('/client/auth/', (req, reply) => {
    const { code, error = 'There is no code.' } = Returned.safeParse(req.query).data ?? {}
    reply.headers(PAGE_HEADERS)
    if (!code) return reply.send(page('Not signed in', `<p role="alert">${escapeHtml(error)}</p>`))
    const command = `curl -s ${gateway}/api/auth/exchange -H 'content-type: application/json' -d ${quoted(JSON.stringify({ code }))}`
    const body = `<p>This one-time code counts 60 seconds. Exchange it for your tokens:</p><pre>${escapeHtml(command)}</pre>`
    return reply.send(page('Signed in', body))
  })
  app.get('/client', (req, reply) => {
    const { error } = Returned.safeParse(req.query).data ?? {}
    reply.headers(PAGE_HEADERS)
    if (error) return reply.send(page('Not signed in', `<p role="alert">${escapeHtml(error)}</p>`))
    const links = ['/api/accounts/me', '/api/compute/demo/me/pods', '/api/agents/demo/me'].map(
      (path) => `<li><a href="${escapeHtml((gatewayUrl ?? '') + path)}">${path}</a></li>`,
    )
    const body = `<p>This browser has a member's session now. It opens:</p><ul>${links.join('')}</ul>`
    return reply.send(page('Signed in', body))
  })
}

/** One word of a shell command: the code comes from the address bar, so a quote in it must not end the word. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

import { openApi } from '@guildhall/contracts/openapi'
import { isDisabled } from '@guildhall/service/config'
import { notFound } from '@guildhall/service/errors'
import { addReady } from '@guildhall/service/probes'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import helmet from 'helmet'
import type { Deps } from './app.ts'
import type { Limits } from './limits.ts'

/** The page of /docs runs its own script and styles, and loads nothing from elsewhere. */
const DOCS_POLICY = {
  directives: {
    defaultSrc: ["'self'"],
    scriptSrc: ["'self'", "'unsafe-inline'"],
    styleSrc: ["'self'", "'unsafe-inline'"],
    imgSrc: ["'self'", 'data:'],
    fontSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
  },
}

/** The path of a URL as the router understands it, however it is spelled. */
const pathIn = (url: string) => decodeURIComponent(url.split('?', 1)[0] ?? '')

/** What the gateway answers itself: /openapi.json and /docs, and without a limit /health and /ready. */
export function addOwnRoutes(
  app: FastifyInstance,
  { config, ready }: Pick<Deps, 'config' | 'ready'>,
  limits: Limits,
) {
  const started_at = new Date().toISOString()
  app.addHook('onRequest', async ({ url }) => {
    if (isDisabled(pathIn(url), config.DISABLED_ROUTES)) throw notFound()
  })
  const { GIT_COMMIT_HASH: commit, ACCESS_ENFORCE: access_enforced } = config
  app.get('/health', async () => ({ status: 'ok', commit, started_at, access_enforced }))
  addReady(app, ready)
  const document = openApi(commit)
  app.get('/openapi.json', { onRequest: limits.other }, async () => document)
  app.register(async (docs) => {
    const secure = helmet({ contentSecurityPolicy: DOCS_POLICY })
    docs.addHook('onRequest', limits.other)
    docs.addHook('onRequest', (req, reply, done) => secure(req.raw, reply.raw, () => done()))
    await docs.register(scalar, {
      routePrefix: '/docs',
      configuration: { url: '/openapi.json', title: 'Guildhall API' },
    })
  })
}

import type { Log } from '@guildhall/service/log'
import Fastify from 'fastify'
import { chatApi } from './chat/api.ts'
import { authorizePage } from './chat/authorize.ts'
import { createGrants } from './chat/grants.ts'
import { clientPage } from './client-page.ts'
import { createModel } from './embeddings/model.ts'
import { embeddingRoutes } from './embeddings/routes.ts'
import type { World } from './world.ts'

export interface SandboxOptions {
  world: World
  /** Where the chat platform may send a browser back to. */
  redirectUris: readonly string[]
  /** Shown on the page where a demo sign-in ends. */
  gatewayUrl: string
  log: Log
  /** Any free one where nothing is said. */
  port?: number
}

export interface Sandbox {
  url: string
  world: World
  /** What CHAT_API_URL, CHAT_AUTHORIZE_URL, EMBEDDINGS_URL and CLIENT_URL must be to use it. */
  chatApiUrl: string
  chatAuthorizeUrl: string
  embeddingsUrl: string
  clientUrl: string
  /** Loads the embedding model ahead of its first use. */
  warm(): Promise<void>
  stop(): Promise<void>
}

/** Emulates the outside services on loopback, over their own protocols. Anybody may sign in as anybody. */
export async function startSandbox({
  world,
  redirectUris,
  gatewayUrl,
  log,
  port = 0,
}: SandboxOptions): Promise<Sandbox> {
  const app = Fastify({ forceCloseConnections: true })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_req, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  )
  const grants = createGrants()
  const model = createModel()
  authorizePage(app, { world, grants, redirectUris })
  chatApi(app, { world, grants })
  embeddingRoutes(app, { world, model })
  clientPage(app, gatewayUrl)
  const url = await app.listen({ host: '127.0.0.1', port })
  log.debug({ url }, 'The sandbox of outside services is up')
  return {
    url,
    world,
    chatApiUrl: `${url}/chat/api`,
    chatAuthorizeUrl: `${url}/chat/oauth2/authorize`,
    embeddingsUrl: `${url}/embeddings/v1`,
    clientUrl: `${url}/client`,
    warm: () => model.warm(),
    async stop() {
      await app.close()
      await model.stop()
    },
  }
}

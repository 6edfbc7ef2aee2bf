import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import Fastify from 'fastify'
import { repoRoutes } from './accounts/repos.ts'
import { accountRoutes } from './accounts/routes.ts'
import { calendarRoutes } from './calendar/routes.ts'
import { chatApi } from './chat/api.ts'
import { authorizePage } from './chat/authorize.ts'
import { channelPage } from './chat/channel.ts'
import type { Gateway } from './chat/gateway.ts'
import { createGrants } from './chat/grants.ts'
import type { Interactions } from './chat/interactions.ts'
import { webhookRoutes } from './chat/webhooks.ts'
import { clientPage } from './client-page.ts'
import { createModel } from './embeddings/model.ts'
import { embeddingRoutes } from './embeddings/routes.ts'
import { hackathonRoutes } from './hackathons/routes.ts'
import { createIdentity, type Identity, identityRoutes } from './identity/routes.ts'
import { notesRoutes } from './notes/routes.ts'
import { createPods } from './podhost/pods.ts'
import { proxyRoutes } from './podhost/proxy.ts'
import { podhostRoutes } from './podhost/routes.ts'
import { trackerRoutes } from './tracker/routes.ts'
import { webSearchRoutes } from './web-search/routes.ts'
import type { World } from './world.ts'

const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

/** What a sandbox starts with. */
export interface SandboxOptions {
  world: World
  /** Where the chat platform may send a browser back to. */
  redirectUris: readonly string[]
  /** Shown on the page where a demo sign-in ends; without it the command there asks for the address. */
  gatewayUrl?: string | undefined
  log: Log
  /** Where pods are kept; a temporary folder, removed at the end, where nothing is said. */
  home?: string | undefined
  /** Where programs that the machine lacks are unpacked; `home` where nothing is said. */
  programs?: string | undefined
  /** The process's own: what apt needs to fetch OpenSSH. */
  env?: Readonly<Record<string, string | undefined>>
  /** A loopback address; 127.0.0.1 where nothing is said. */
  host?: string
  /** Any free one where nothing is said. */
  port?: number
  /** The clock by which codes and tokens of the chat platform run out. */
  now?: () => Date
}

/** A sandbox that listens, until `stop`. */
export interface Sandbox {
  url: string
  world: World
  /** How often each route of the chat API was asked: `GET /guilds/:guild_id/members`. */
  chatRequests: ReadonlyMap<string, number>
  /** Where the bot is connected; tests end its connections. */
  chatGateway: Omit<Gateway, 'url' | 'dispatch'>
  /** Types a command of the bot as somebody. */
  typeCommand: Interactions['type']
  /** What CHAT_API_URL, CHAT_AUTHORIZE_URL, EMBEDDINGS_URL and CLIENT_URL must be to use it. */
  chatApiUrl: string
  chatAuthorizeUrl: string
  embeddingsUrl: string
  clientUrl: string
  /** What IDP_API_URL must be. */
  identityUrl: string
  /** Session tokens of the identity provider, as its browser client would hold them. */
  identityToken: Identity['token']
  /** What PODHOST_API_URL, CODEHOST_API_URL and NOTES_API_URL must be. */
  podhostUrl: string
  codeHostUrl: string
  notesUrl: string
  /** What GOOGLE_CALENDAR_URL and GOOGLE_TOKEN_URL must be. */
  calendarUrl: string
  calendarTokenUrl: string
  /** What CODEHOST_RAW_URL and APPS_PROXY_URL must be. */
  codeHostRawUrl: string
  appsProxyUrl: string
  /** Where webhooks lead, and what the settings of the hackathon sources must be. */
  chatWebhooksUrl: string
  hackathonsUrl: string
  /** A page with what was posted to webhooks. */
  chatChannelUrl: string
  /** What TRACKER_DSN must be. */
  trackerDsn: string
  /** What SEARCH_SERVICE_URL must be. */
  webSearchUrl: string
  /** Loads the embedding model ahead of its first use. */
  warm(): Promise<void>
  stop(): Promise<void>
}

/**
 * Emulates the outside services on loopback, over their own protocols. Anybody may sign in as anybody: it
 * throws `sandbox.not_loopback` for a host that others could reach.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { world, redirectUris, gatewayUrl, log } = options
  const { host = '127.0.0.1', port = 0, now = () => new Date() } = options
  checkLoopback(host)
  const app = Fastify({ forceCloseConnections: true })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_req, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  )
  const grants = createGrants(now)
  const model = createModel()
  authorizePage(app, { world, grants, redirectUris })
  const chatRequests = new Map<string, number>()
  const { gateway, interactions } = chatApi(app, { world, grants }, chatRequests)
  webhookRoutes(app, { world })
  channelPage(app, { world })
  hackathonRoutes(app, { world })
  webSearchRoutes(app)
  trackerRoutes(app, { world })
  embeddingRoutes(app, { world, model })
  accountRoutes(app, { world })
  notesRoutes(app, { world })
  calendarRoutes(app, { world })
  repoRoutes(app, { world })
  const { home, programs, env = {} } = options
  const pods = createPods({ home, programs, env, log })
  podhostRoutes(app, { world, pods })
  proxyRoutes(app, { world, pods })
  clientPage(app, gatewayUrl)
  const identity = createIdentity(world)
  identityRoutes(app, world, identity)
  await pods.resume()
  const url = await app.listen({ host, port })
  log.debug({ url }, 'The sandbox of outside services is up')
  return {
    url,
    world,
    chatRequests,
    chatGateway: gateway,
    typeCommand: interactions.type,
    chatApiUrl: `${url}/chat/api`,
    chatAuthorizeUrl: `${url}/chat/oauth2/authorize`,
    embeddingsUrl: `${url}/embeddings/v1`,
    clientUrl: `${url}/client`,
    identityUrl: `${url}/identity`,
    identityToken: identity.token,
    podhostUrl: `${url}/podhost/v2`,
    codeHostUrl: `${url}/code-host`,
    notesUrl: `${url}/notes`,
    calendarUrl: url,
    calendarTokenUrl: `${url}/google/token`,
    codeHostRawUrl: `${url}/code-host-raw`,
    appsProxyUrl: `${url}/podhost/proxy/{pod}/{port}`,
    chatWebhooksUrl: `${url}/chat/api/webhooks`,
    chatChannelUrl: `${url}/chat/channel`,
    hackathonsUrl: `${url}/hackathons`,
    trackerDsn: `${url.replace('://', '://key@')}/tracker/1`,
    webSearchUrl: `${url}/web-search`,
    warm: () => model.warm(),
    async stop() {
      await Promise.all([app.close().then(() => pods.stop()), model.stop()])
    },
  }
}

function checkLoopback(host: string) {
  if (LOOPBACK.includes(host)) return
  const message = `The sandbox lets anybody sign in as anybody, so it listens on ${LOOPBACK.join(', ')} only, not on ${host}`
  throw new AppError('invalid', 'sandbox.not_loopback', message)
}

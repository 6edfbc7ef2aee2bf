import { join } from 'node:path'
import { findNatsServer, startNats } from '@guildhall/bus/embedded'
import { natsUsers } from '@guildhall/bus/users'
import { services } from '@guildhall/contracts/names'
import { startPostgres } from '@guildhall/db/embedded'
import { readConfig as readGateway } from '@guildhall/gateway/config'
import { start as startGateway } from '@guildhall/gateway/main'
import { demoWorld, people } from '@guildhall/sandbox/demo'
import { type Sandbox, startSandbox } from '@guildhall/sandbox/sandbox'
import { type Env, Port, SettingsError } from '@guildhall/service/config'
import { createLog, type Log } from '@guildhall/service/log'
import { makeDemoOrgs } from './demo.ts'
import { freePort } from './free-port.ts'
import { markHome, removeRunning, writeRunning } from './home.ts'
import { type Keys, openKeys } from './keys.ts'
import { parts } from './services.ts'

/** Any of these means that the outside world is the real one (architecture.md, Outside services). */
const OUTSIDE = [
  'BOT_TOKEN',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'EMBEDDINGS_URL',
  'EMBEDDINGS_API_KEY',
  'IDP_SECRET_KEY',
  'IDP_JWT_KEY',
  'NOTES_API_KEY',
  'CODEHOST_TOKEN',
  'GOOGLE_SERVICE_ACCOUNT',
  'RENDERER_URL',
  'RENDERER_API_KEY',
  'SEARCH_SERVICE_URL',
] as const
const LOOPBACK = ['127.0.0.1', '::1', 'localhost']
const DEFAULT_PORT = '8080'

export interface StackOptions {
  /** Where the data live. */
  home: string
  env: Env
  /** The clock of the services; tests set it. */
  now?: () => Date
  /** Where programs that the sandbox needs and the machine lacks are unpacked; `home` where nothing is said. */
  programs?: string | undefined
}

export interface Stack extends AsyncDisposable {
  /** The gateway's address. */
  url: string
  /** Nothing where outside credentials are set. */
  sandbox: Sandbox | undefined
  keys: Keys
  /** The keys were made by this start. */
  keysMade: boolean
  /** Process ids of the embedded servers, where they run. */
  children(): { postgres: number | undefined; nats: number | undefined }
  settings: Env
}

/**
 * Starts everything in this process: embedded Postgres and NATS unless DATABASE_URL and NATS_URL name
 * others, the sandbox unless outside credentials are set, every service and the gateway. What was started
 * is stopped again when a later part fails.
 */
export async function startStack({ home, env, now, programs }: StackOptions): Promise<Stack> {
  const log = createLog('stack', {
    format: env.LOG_FORMAT === 'json' ? 'json' : 'text',
    level: env.LOG_LEVEL || 'info',
  })
  const real = OUTSIDE.some((name) => env[name])
  await markHome(home, real ? 'real' : 'demo')
  const { keys, made: keysMade } = await openKeys(home)
  await using opening = new AsyncDisposableStack()
  const servers = await startServers(opening, { home, env, keys, log })
  const port = await portOf(env)
  const url = `http://127.0.0.1:${port}`
  const sandbox = real
    ? undefined
    : await openSandbox(opening, { env, home, keys, log, programs }, url)
  const settings = settingsOf({ env, home, keys, port, url, servers, sandbox })
  await startParts(opening, settings, now)
  if (sandbox) await makeDemoOrgs(settings, sandbox)
  await writeRunning(home, {
    pid: process.pid,
    url,
    DATABASE_URL: servers.DATABASE_URL,
    NATS_URL: servers.NATS_URL,
  })
  opening.defer(() => removeRunning(home))
  const all = opening.move()
  return {
    url,
    sandbox,
    keys,
    keysMade,
    settings,
    children: servers.children,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

interface Opening {
  home: string
  env: Env
  keys: Keys
  log: Log
}

/** Postgres and NATS, each embedded unless its URL is set. */
export async function startServers(
  opening: AsyncDisposableStack,
  { home, env, keys, log }: Opening,
) {
  const [postgres, nats] = await Promise.all([
    env.DATABASE_URL
      ? undefined
      : startPostgres({ dir: join(home, 'postgres'), password: keys.POSTGRES_PASSWORD, log }),
    env.NATS_URL ? undefined : startEmbeddedNats({ home, env, keys, log }),
  ])
  if (postgres) opening.defer(() => postgres.stop())
  if (nats) opening.defer(() => nats.stop())
  return {
    DATABASE_URL: postgres?.url ?? String(env.DATABASE_URL),
    NATS_URL: nats?.url ?? String(env.NATS_URL),
    children: () => ({ postgres: postgres?.pid(), nats: nats?.pid() }),
  }
}

async function startEmbeddedNats({ home, env, keys, log }: Opening) {
  const bin = await findNatsServer({ home, log, env })
  const users = natsUsers(env.INTERNAL_KEY || keys.INTERNAL_KEY)
  return startNats({ bin, dir: join(home, 'nats'), config: { users }, log })
}

/** The sandbox, on loopback alone, whose sign-ins come back to the gateway at this address. */
export async function openSandbox(
  opening: AsyncDisposableStack,
  { env, home, keys, log, programs }: Opening & Pick<StackOptions, 'programs'>,
  gatewayUrl: string,
) {
  const { HOST } = env
  if (HOST && !LOOPBACK.includes(HOST)) {
    throw new SettingsError(
      `HOST is ${HOST}, but the sandbox lets anybody sign in as anybody. Unset HOST, or set the credentials of the real services (docs/operators).`,
    )
  }
  const redirectUris = ['auth/callback', 'accounts/chat/callback', 'compute/cli/callback'].map(
    (path) => `${gatewayUrl}/api/${path}`,
  )
  const sandbox = await startSandbox({
    world: demoWorld(keys.SECRET_KEY), // the same at each start: pods belong to the key they were made with
    redirectUris,
    gatewayUrl,
    log,
    home,
    programs,
    env,
  })
  opening.defer(() => sandbox.stop())
  return sandbox
}

interface Made {
  env: Env
  home: string
  keys: Keys
  port: number
  url: string
  servers: { DATABASE_URL: string; NATS_URL: string }
  sandbox: Sandbox | undefined
}

/** Settings of every part: what the environment says, over what a newcomer needs. */
function settingsOf({ env, home, keys, port, url, servers, sandbox }: Made): Env {
  const { POSTGRES_PASSWORD, ...secrets } = keys
  const given = Object.entries(env).filter(([, value]) => value)
  return {
    ACCESS_ENFORCE: 'true',
    ...Object.fromEntries(services.map((service) => [`${service.toUpperCase()}_PORT`, '0'])),
    ADMIN_PORT: '0',
    LOG_FORMAT: 'text',
    KNOWLEDGE_INDEX_DIR: join(home, 'index'),
    ...secrets,
    ...(sandbox && sandboxSettings(sandbox, url)),
    ...Object.fromEntries(given),
    ...servers,
    PORT: String(port),
  }
}

/** What the parts must be told to take the sandbox for the outside world. */
export function sandboxSettings(
  { world, chatApiUrl, chatAuthorizeUrl, embeddingsUrl, clientUrl, ...sandbox }: Sandbox,
  url: string,
): Env {
  const { clientId, clientSecret, botToken } = world.application
  return {
    BOT_TOKEN: botToken,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    REDIRECT_URI: `${url}/api/auth/callback`,
    CLIENT_URL: clientUrl,
    SYS_ADMIN: people.superadmin.id,
    CHAT_API_URL: chatApiUrl,
    CHAT_AUTHORIZE_URL: chatAuthorizeUrl,
    EMBEDDINGS_URL: embeddingsUrl,
    EMBEDDINGS_MODEL: 'demo',
    EMBEDDINGS_WEIGHT: '0.2', // a small model: docs/performance.md has what it finds alone
    ACCOUNTS_BASE_URL: url,
    IDP_API_URL: sandbox.identityUrl,
    IDP_SECRET_KEY: world.identity.secretKey,
    IDP_AUTHORIZED_PARTIES: world.identity.authorizedParty,
    PODHOST_API_URL: sandbox.podhostUrl,
    COMPUTE_POD_IMAGE: 'guildhall/pod:demo',
    CODEHOST_API_URL: sandbox.codeHostUrl,
    CODEHOST_RAW_URL: sandbox.codeHostRawUrl,
    APPS_PROXY_URL: sandbox.appsProxyUrl,
    NOTES_API_URL: sandbox.notesUrl,
    GOOGLE_CALENDAR_URL: sandbox.calendarUrl,
    GOOGLE_TOKEN_URL: sandbox.calendarTokenUrl,
    SEARCH_SERVICE_URL: sandbox.webSearchUrl,
    ALERTS_WEBHOOK_ORIGINS: new URL(sandbox.chatWebhooksUrl).origin,
    ALERTS_HACKCLUB_URL: `${sandbox.hackathonsUrl}/hackclub`,
    ALERTS_EURO_HACKATHONS_URL: `${sandbox.hackathonsUrl}/euro`,
    ALERTS_HACKALIST_URL: `${sandbox.hackathonsUrl}/hackalist`,
  }
}

/** The services side by side, then the gateway that needs their addresses. */
async function startParts(opening: AsyncDisposableStack, settings: Env, now: StackOptions['now']) {
  const ready = services.map((service) => parts[service].prepare(settings))
  const started = await Promise.allSettled(ready.map((start) => start(now)))
  for (const one of started) if (one.status === 'fulfilled') opening.use(one.value)
  const failed = started.find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
  const urls = started.flatMap((one, n) =>
    one.status === 'fulfilled' ? [[`${services[n]?.toUpperCase()}_URL`, one.value.url]] : [],
  )
  Object.assign(settings, Object.fromEntries(urls))
  opening.use(await startGateway(readGateway(settings)))
}

async function portOf({ PORT }: Env): Promise<number> {
  if (PORT === '0') return freePort()
  const port = Port.safeParse(PORT || DEFAULT_PORT)
  if (port.success) return port.data
  throw new SettingsError(`PORT is ${PORT}; it takes 0 to 65535, and 0 takes a free one`)
}

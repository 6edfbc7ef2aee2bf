import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** An environment: names to texts. An empty text counts as unset. */
export type Env = Record<string, string | undefined>

/** A setting or several that cannot be used; the message names each and what is accepted. */
export class SettingsError extends Error {
  override name = 'SettingsError'
}

/**
 * Reads the settings of one process. `NAME_FILE` may hold the path of a file with the value of NAME,
 * as container secrets come. Throws one SettingsError that lists every fault.
 */
export function readSettings<S extends z.ZodObject>(schema: S, env: Env): z.output<S> {
  const faults: string[] = []
  const names = Object.keys(schema.shape)
  const given = Object.fromEntries(
    names.map((name) => [name, givenFor(name, env, faults)]).filter(([, value]) => value),
  )
  const parsed = schema.safeParse(given)
  if (parsed.success && faults.length === 0) return parsed.data
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0] ?? 'settings')
    const { description = 'see .env.example' } = (schema.shape[name] as z.ZodType | undefined) ?? {}
    faults.push(`${name}: ${message} (${description})`)
  }
  throw new SettingsError(`Settings cannot be used:\n  ${faults.join('\n  ')}`)
}

/** What `env` gives for a setting, itself or by its file; a file that cannot be read is a fault. */
export function givenFor(name: string, env: Env, faults: string[] = []) {
  const file = env[`${name}_FILE`]
  return file && !env[name] ? readSecret(name, file, faults) : env[name]
}

function readSecret(name: string, file: string, faults: string[]) {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    faults.push(`${name}_FILE: ${(error as Error).message}`)
    return undefined
  }
}

/** 32 bytes as 64 hex digits or base64; what `openssl rand -hex 32` prints. */
export const Key = z
  .string()
  .regex(/^([0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?)$/i, 'needs 32 random bytes: openssl rand -hex 32')

/** A database URL. */
export const PostgresUrl = z
  .string()
  .refine((url) => !url.startsWith('sqlite'), {
    message: 'SQLite is not supported; leave it unset and npm start brings its own Postgres',
    abort: true,
  })
  .refine((url) => /^postgres(ql)?:\/\//.test(url), {
    message: 'needs a postgres:// URL',
    abort: true,
  })
  .refine(
    URL.canParse,
    'is no URL; write # / ? @ : and % of its password as %23 %2F %3F %40 %3A and %25',
  )

/** Where one nats-server listens. */
export const NatsUrl = z
  .string()
  .refine(isNatsUrl, 'needs nats://host:port or tls://host:port, of one server')

function isNatsUrl(text: string): boolean {
  const url = URL.parse(text)
  return !!url && ['nats:', 'tls:'].includes(url.protocol) && /^[^,]+$/.test(url.hostname)
}

/** An http(s) address. */
export const WebUrl = z.url({ protocol: /^https?$/ })

const Share = z.coerce.number<string>().min(0).max(1)

/** An external error tracker that speaks the protocol of Sentry. */
export const trackerSettings = {
  GIT_COMMIT_HASH: z.string().default('unknown').describe('Commit of the build, shown by /health'),
  TRACKER_DSN: z
    .string()
    // what is none the tracker's client would print, key and all
    .regex(/^https?:\/\/\w+@[^/@\s]+\/(\S+\/)?\d+$/, 'needs https://<key>@<host>/<project>')
    .optional()
    .describe('Error tracker: https://<key>@<host>/<project>'),
  TRACKER_LOGS_LEVEL: z
    .enum(['DEBUG', 'INFO', 'WARNING', 'ERROR', 'FATAL'])
    .default('WARNING')
    .describe('Lowest level of log lines sent to the tracker; LOG_LEVEL must let them through'),
  TRACKER_TRACES_SAMPLE_RATE: Share.default(0.1).describe('Share of requests traced, 0 to 1'),
  TRACKER_PROFILES_SAMPLE_RATE: Share.default(0).describe(
    'Share of traced requests profiled; accepted, but nothing is profiled',
  ),
  TRACKER_ENVIRONMENT: z.string().default('production').describe('Name of the environment there'),
}

/** A warning of each setting that is accepted and changes nothing. */
export const withoutEffect = (config: z.output<z.ZodObject<typeof trackerSettings>>): string[] =>
  config.TRACKER_PROFILES_SAMPLE_RATE > 0
    ? ['TRACKER_PROFILES_SAMPLE_RATE changes nothing: Guildhall sends no profiles. Unset it']
    : []

/** Settings that every process has. */
export const commonSettings = {
  INTERNAL_KEY: z
    .union(
      [Key, z.string().regex(/^own-[a-z]+-[0-9a-f]{64}$/)],
      'needs 32 random bytes: openssl rand -hex 32',
    )
    .describe(
      'Signs what the gateway tells the services; database and NATS passwords derive from it',
    ),
  DATABASE_URL: PostgresUrl.describe(
    'Postgres, as the owner of the database or as the role of the service',
  ),
  NATS_URL: NatsUrl.describe('nats://host:port; without a user in it each service uses its own'),
  LOG_FORMAT: z.enum(['json', 'text']).default('json').describe('How log lines are written'),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'fatal'])
    .default('info')
    .describe('Lowest level logged'),
  ...trackerSettings,
}

/** Settings of a process that listens. */
export const listenSettings = {
  HOST: z.string().default('127.0.0.1').describe('Address to listen on'),
}

/** A comma list: its items, trimmed, without empty ones. */
export const listed = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/** A comma list of http(s) addresses. */
export const webUrls = (description: string) =>
  z.string().default('').transform(listed).pipe(z.array(WebUrl)).describe(description)

/** Whose pages may call the API and be returned to. */
export const originSettings = {
  CLIENT_URL: WebUrl.optional().describe(
    'Browser client: a sign-in ends at <CLIENT_URL>/auth/?code=…, and its origin may call the API',
  ),
  DASHBOARD_URL: WebUrl.optional().describe('The same for client=dashboard'),
  ALLOWED_ORIGINS: webUrls('Further origins that may call the API, separated by commas'),
}

/** Where members sign in; its scheme tells how the cookie of their session is named. */
export const accountSettings = {
  ACCOUNTS_BASE_URL: WebUrl.optional().describe(
    'Public address of this deployment: members sign in at <it>/api/accounts/chat/callback',
  ),
}

/** The origins of `originSettings`, each once. */
export function allowedOrigins({
  CLIENT_URL,
  DASHBOARD_URL,
  ALLOWED_ORIGINS,
}: z.output<z.ZodObject<typeof originSettings>>): string[] {
  const urls = [CLIENT_URL, DASHBOARD_URL, ...ALLOWED_ORIGINS].filter((url) => url !== undefined)
  return [...new Set(urls.map((url) => new URL(url).origin))]
}

export const PerMinute = z.coerce.number<string>().int().min(0)

/** How often what is costly may be asked; each process counts for itself (see rate.ts). */
export const rateSettings = {
  RATE_SEARCH_PER_MINUTE: PerMinute.default(1_200).describe(
    'Searches of one credential; of tools as many again; 0 is no limit',
  ),
  RATE_CONNECT_PER_MINUTE: PerMinute.default(60).describe(
    'Connects to pods of one member; 0 is no limit',
  ),
}

const CHAT_ORIGINS =
  'https://discord.com,https://discordapp.com,https://canary.discord.com,https://ptb.discord.com'
const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost']

/** https, or http on this machine. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  if (!url || url.origin !== text) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.includes(url.hostname))
}

/** Where officers may have messages sent to. */
export const webhookSettings = {
  ALERTS_WEBHOOK_ORIGINS: z
    .string()
    .default(CHAT_ORIGINS)
    .transform(listed)
    .pipe(
      z.array(
        z.string().refine(isOrigin, 'needs origins as https://chat.example, separated by commas'),
      ),
    )
    .describe(
      'Where webhooks of alert feeds may lead, separated by commas; org errors also go to any https address',
    ),
}

/** Routes that are switched off. */
export const routeSettings = {
  DISABLED_ROUTES: z
    .string()
    .default('')
    .refine(
      (text) => listed(text).every((prefix) => prefix.startsWith('/')),
      'each prefix begins with /',
    )
    .transform(listed)
    .describe('Path prefixes that answer 404, with the tools behind them; a folder ends with /'),
}

/** True if a path begins with a switched-off prefix; `/a/` also switches off `/a`. */
export const isDisabled = (path: string, prefixes: readonly string[]) =>
  prefixes.some((prefix) => path.startsWith(prefix) || `${path}/` === prefix)

/** A port; 0 takes a free one. */
export const Port = z.coerce.number<string>().int().min(0).max(65_535)

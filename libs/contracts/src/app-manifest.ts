import { z } from 'zod'
import { CloudType } from './compute.ts'

/** What an app is and which pod it runs on (decisions.md § 2, Apps). Nothing else than these fields is accepted. */

const MOST_ENV = 100
const MOST_PORTS = 20
/** The service's own variables in every pod. */
const OWN_ENV = /^CLI_/

const NO_TAG = 'is an image without a tag, as ghcr.io/club/site: the tag comes with each deploy'
/** Host, port and path; the last segment holds no colon, so that a tag or a digest cannot stand there. */
const AppImage = z
  .string()
  .max(400)
  .regex(/^[a-z0-9][a-z0-9.-]*(:\d{1,5}(?=\/))?(\/[a-z0-9][a-z0-9._-]*)*$/i, NO_TAG)

const EnvName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_]\w*$/, 'a name is letters, digits and _')
  .refine((name) => !OWN_ENV.test(name), "names that begin with CLI_ are the service's own")
const atMost = (most: number) => (values: object) => Object.keys(values).length <= most
const Env = z
  .record(EnvName, z.string().max(16_384))
  .refine(atMost(MOST_ENV), `at most ${MOST_ENV} variables`)
  .default({})
const SecretEnv = z
  .record(
    EnvName,
    z.string().regex(/^app_[a-z0-9_-]{1,60}$/, 'is the name of a secret of the org: app_…'),
  )
  .refine(atMost(MOST_ENV), `at most ${MOST_ENV} variables`)
  .default({})

const PortNumber = z.int().min(1).max(65_535)
const Port = z
  .string()
  .regex(/^[1-9]\d{0,4}\/(http|tcp)$/, 'is a port and how it is reached, as 8080/http')
  .refine((port) => Number.parseInt(port, 10) <= 65_535, 'ports end at 65535')
const MountPath = z
  .string()
  .max(255)
  .regex(/^(\/[\w-][\w.-]*)+$/, 'is an absolute path such as /data')
const HostId = z.string().trim().min(1).max(100)

const Mounts = z
  .strictObject({
    persistent: z.strictObject({ size: z.int().min(10).max(2000), path: MountPath }).optional(),
    network: z
      .array(z.strictObject({ volumeId: HostId, path: MountPath }))
      .length(1)
      .optional(),
  })
  .refine((mounts) => Object.keys(mounts).length < 2, 'one of persistent and network')

/** `service` and `site` answer over HTTP; a `bot` or an `agent` may run without any port. */
export const AppKind = z.enum(['bot', 'agent', 'site', 'service'])

export const Manifest = z
  .strictObject({
    image: AppImage,
    gpu: z.strictObject({ id: HostId, count: z.int().min(1).max(16).default(1) }).optional(),
    cpu: z.strictObject({ id: HostId, vcpuCount: z.int().min(2).max(128) }).optional(),
    cloud: CloudType.default('COMMUNITY'),
    dataCenterIds: z.array(HostId).max(50).optional(),
    disk: z.int().min(1).max(500).default(20).describe('GB of the container, gone at each deploy'),
    ports: z.array(Port).max(MOST_PORTS).default([]),
    args: z.string().max(4_000).optional(),
    registry: HostId.optional().describe("The pod host's id of the credentials of a registry"),
    env: Env,
    secret_env: SecretEnv.describe('Variable name to the name of a secret of the org'),
    mounts: Mounts.optional(),
    health: z
      .strictObject({
        port: PortNumber,
        path: z
          .string()
          .max(500)
          .regex(/^\/[^\s#]*$/, 'is a path such as /health'),
      })
      .optional(),
    kind: AppKind.default('service'),
    description: z.string().trim().max(500).default(''),
    url: z
      .url({ protocol: /^https$/ })
      .max(2000)
      .optional()
      .describe('Where people find it'),
  })
  .superRefine((manifest, context) => {
    for (const [path, message] of brokenRules(manifest))
      context.addIssue({ code: 'custom', path, message })
  })
  .meta({ id: 'AppManifest' })
export type Manifest = z.output<typeof Manifest>

interface Together {
  gpu?: unknown
  cpu?: unknown
  ports: string[]
  env: object
  secret_env: object
  mounts?: { persistent?: unknown } | undefined
  health?: { port: number } | undefined
  kind: z.output<typeof AppKind>
}

/** What does not go together, each with its place. */
function brokenRules({ gpu, cpu, ports, env, secret_env, mounts, health, kind }: Together) {
  const twice = Object.keys(secret_env).find((name) => Object.hasOwn(env, name))
  const unanswered = health && !ports.includes(`${health.port}/http`)
  const broken: [boolean, string[], string][] = [
    [Boolean(gpu) === Boolean(cpu), [gpu ? 'cpu' : 'gpu'], 'name one of gpu and cpu'],
    [Boolean(cpu && mounts?.persistent), ['mounts', 'persistent'], 'CPU pods have no volume'],
    [new Set(ports).size < ports.length, ['ports'], 'names a port twice'],
    [Boolean(unanswered), ['health', 'port'], 'is one of ports, as 8080/http'],
    [
      !health && (kind === 'site' || kind === 'service'),
      ['health'],
      `a ${kind} needs health {port, path}; a bot or an agent may run without`,
    ],
    [twice !== undefined, ['secret_env', twice ?? ''], 'stands in env too'],
  ]
  return broken.flatMap(([is, path, message]) => (is ? [[path, message] as const] : []))
}

import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { services } from '@guildhall/contracts/names'
import { Settings as GatewaySettings } from '@guildhall/gateway/config'
import { readSettings } from '@guildhall/service/config'
import { cleanUp } from '@guildhall/service/testing'
import { Ajv } from 'ajv'
import { parts } from '../services.ts'
import {
  type Compose,
  composeText,
  environmentOf,
  parseYaml,
  readCompose,
  SECRETS_AT,
} from './file.ts'
import { makeSecrets, secretNames } from './secrets.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const text = await composeText()
const compose = readCompose(text, {})
const schemas = {
  gateway: GatewaySettings,
  ...Object.fromEntries(services.map((service) => [service, parts[service].Settings])),
}
const dockerfile = await readFile(join(root, 'deploy/Dockerfile'), 'utf8')

/** Every file in `services/` that is a process, also one without a contract, such as a bot. */
const processes = [
  'gateway',
  ...readdirSync(join(root, 'services')).filter((name) =>
    existsSync(join(root, 'services', name, 'src/main.ts')),
  ),
]

/** The containers that run our image. */
const ours = Object.entries(compose.services).filter(([, { image }]) =>
  image.startsWith('guildhall:'),
)

async function specification() {
  const home = dirname(createRequire(import.meta.url).resolve('dclint/package.json'))
  const { $schema, ...schema } = JSON.parse(
    await readFile(join(home, 'schemas/compose.schema.json'), 'utf8'),
  )
  assert.match($schema, /draft-07/)
  return new Ajv({ strict: false, allErrors: true, logger: false }).compile(schema)
}

test('docker-compose.yml is what the Compose specification allows', async () => {
  const isValid = await specification()
  isValid(parseYaml(text))
  assert.deepEqual(isValid.errors ?? [], [])
  assert.equal(isValid({ services: { auth: { image: 'x', restrat: 'always' } } }), false)
})

test('it has every process once, each with a probe of its own, a restart policy and its own file', () => {
  for (const name of [...services, ...processes]) {
    const container = compose.services[name]
    assert.ok(container, `${name} has no container in docker-compose.yml`)
    const entry = name === 'gateway' ? 'gateway' : `services/${name}`
    assert.deepEqual(container.command, ['node', `${entry}/src/main.ts`])
    assert.equal(container.restart, 'unless-stopped')
    const port = name === 'gateway' ? 8080 : portOf(name)
    assert.equal(container.healthcheck?.test.at(-1), `http://127.0.0.1:${port}/ready`)
  }
  for (const name of ['postgres', 'nats', 'meilisearch', 'qdrant']) {
    const { restart, healthcheck } = compose.services[name] ?? assert.fail(name)
    assert.ok(restart === 'unless-stopped' && healthcheck, name)
  }
})

function portOf(name: string) {
  const setting = new URL(compose.services.gateway?.environment[`${name.toUpperCase()}_URL`] ?? '')
  assert.equal(setting.hostname, name)
  return setting.port
}

test('every command names a file that exists', () => {
  const words = ours.flatMap(([, one]) => [
    ...one.command,
    ...one.entrypoint,
    ...(one.healthcheck?.test ?? []),
  ])
  const files = words.filter((word) => word.endsWith('.ts'))
  assert.ok(files.length > 2 * services.length)
  for (const file of files) assert.ok(existsSync(join(root, file)), file)
})

test('each process is given the settings that it reads, all of them, and no other', () => {
  for (const [name, { shape }] of Object.entries(schemas)) {
    const { environment = {} } = compose.services[name] ?? {}
    const offered = Object.keys(environment).map((one) => one.replace(/_FILE$/, ''))
    // its port is the default, the image knows its commit, and roles come from INTERNAL_KEY
    const own = [
      `${name.toUpperCase()}_PORT`,
      `${name.toUpperCase()}_DATABASE_URL`,
      'ADMIN_PORT',
      'GIT_COMMIT_HASH',
    ]
    const read = Object.keys(shape).filter((one) => !own.includes(one))
    assert.deepEqual(offered.sort(), read.sort(), name)
  }
})

test('secrets come as files, to those alone who read them, and setup makes each', () => {
  const isSecret = (name: string) =>
    /(_KEY|_TOKEN|_SECRET|_PASSWORD|_ACCOUNT|_DSN|WEBHOOK_URL|DATABASE_URL)$/.test(name)
  for (const [name, { environment, secrets }] of Object.entries(compose.services)) {
    assert.deepEqual(Object.keys(environment).filter(isSecret), [], name)
    const sources = secrets.map((secret) => (typeof secret === 'string' ? secret : secret.source))
    const mounted = secrets.map((secret) => (typeof secret === 'string' ? secret : secret.target))
    const named = JSON.stringify(compose.services[name]).match(/\/run\/secrets\/[\w.]+/g) ?? []
    const used = new Set(named.map((path) => path.slice(SECRETS_AT.length)))
    assert.deepEqual([...used].sort(), mounted.sort(), name)
    for (const source of sources) assert.ok(compose.secrets[source], source)
  }
  assert.deepEqual(Object.keys(compose.secrets).sort(), [...secretNames].sort())
})

test('a service is given its own part of the internal key and its own role, never those of all', () => {
  for (const name of services) {
    const { environment } = compose.services[name] ?? assert.fail(name)
    assert.equal(environment.INTERNAL_KEY_FILE, `${SECRETS_AT}${name}_internal_key`)
    assert.equal(environment.DATABASE_URL_FILE, `${SECRETS_AT}${name}_database_url`)
    assert.ok(
      !JSON.stringify(compose.services[name]?.secrets).match(/"(internal_key|database_url)"/),
    )
  }
})

test('every environment is accepted by its process', async (t) => {
  const folder = await secretsOf(t)
  for (const [name, schema] of Object.entries(schemas)) {
    const container = compose.services[name] ?? assert.fail(name)
    const env = Object.fromEntries(
      Object.entries(environmentOf(container, {})).map(([key, value]) => [
        key,
        value.replace(SECRETS_AT, `${folder}/`),
      ]),
    )
    const settings = readSettings(schema, env)
    assert.match(String(settings.INTERNAL_KEY), /[0-9a-f]{64}$/)
  }
})

async function secretsOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-secrets-'))
  cleanUp(t, () => rm(folder, { recursive: true, force: true }))
  await makeSecrets(folder)
  return folder
}

test('nothing of ours runs as root, and /health shows the commit of the image', () => {
  const users = [...dockerfile.matchAll(/^USER (\S+)$/gm)].map(([, user]) => user)
  assert.deepEqual(users, ['10001:10001'])
  for (const [name, { user }] of ours) assert.equal(user, undefined, name)
  for (const name of ['nats', 'meilisearch', 'qdrant'])
    assert.equal(compose.services[name]?.user, '10001:10001')
  assert.match(dockerfile, /^ARG GIT_COMMIT_HASH=unknown\nENV GIT_COMMIT_HASH=\$GIT_COMMIT_HASH$/m)
  assert.match(text, /^ {6}GIT_COMMIT_HASH: \$\{GIT_COMMIT_HASH:-unknown\}$/m)
})

test('only the gateway is reached from outside, on loopback unless told, and it reaches no database', () => {
  const open = Object.entries(compose.services).filter(([, { ports }]) => ports.length > 0)
  assert.deepEqual(
    open.map(([name, { ports }]) => [name, ports]),
    [['gateway', ['127.0.0.1:8080:8080']]],
  )
  const at = (port: string): Compose => readCompose(text, { GUILDHALL_BIND: port })
  assert.deepEqual(at('0.0.0.0:80').services.gateway?.ports, ['0.0.0.0:80:8080'])
  const { gateway, postgres } = compose.services
  assert.ok(!gateway?.networks.some((network) => postgres?.networks.includes(network)))
})

test('the file uses variables in the one form that its reader knows', () => {
  const values = JSON.stringify(parseYaml(text))
  assert.deepEqual(values.replaceAll(/\$\{[A-Z_]+:-[^}]*\}/g, '').match(/\$\S*/g) ?? [], [])
})

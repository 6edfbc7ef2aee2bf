import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Env } from '@guildhall/service/config'
import { type Compose, type Container, environmentOf, SECRETS_AT } from './file.ts'
import { secretsOf } from './secrets.ts'

/** What stands for the containers' network, volumes and secrets on this machine. */
export interface Place {
  home: string
  /** The folder that stands for the secrets of containers. */
  secrets: string
  ports: Record<string, number>
  /** What `.env` and the shell would say. */
  settings: Env
}

/** The environment of a container with this machine's addresses and folders. */
export function placed(
  name: string,
  container: Container | undefined,
  { home, secrets, ports, settings }: Place,
) {
  const listens = name === 'gateway' ? 'PORT' : `${name.toUpperCase()}_PORT`
  const here = (value: string) =>
    value
      .replace(/^http:\/\/([a-z]+):\d+$/, (whole, host: string) =>
        ports[host] ? `http://127.0.0.1:${ports[host]}` : whole,
      )
      .replace(SECRETS_AT, `${secrets}/`)
  const env = Object.entries(container ? environmentOf(container, settings) : {}).map(
    ([key, value]) => [key, here(value)],
  )
  const { PATH = '', NODE_COMPILE_CACHE = '', NATS_URL = '' } = settings
  return {
    ...(Object.fromEntries(env) as Record<string, string>),
    PATH,
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
    HOST: '127.0.0.1',
    NATS_URL,
    [listens]: String(ports[name]),
    ...(name === 'gateway' && { ADMIN_PORT: '0' }),
    ...(name === 'knowledge' && { KNOWLEDGE_INDEX_DIR: join(home, 'index') }),
  }
}

/** Each secret of the file, of the settings of their names and as `setup` makes the others. */
export async function writeSecrets(home: string, compose: Compose, settings: Env) {
  const folder = join(home, 'secrets')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const known = Object.entries(settings).map(([name, value]) => [name.toLowerCase(), value])
  const secrets = secretsOf(Object.fromEntries(known))
  for (const name of Object.keys(compose.secrets))
    await writeFile(join(folder, name), secrets[name] ?? '', { mode: 0o600 })
  return folder
}

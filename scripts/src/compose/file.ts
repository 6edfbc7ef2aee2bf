import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Env } from '@guildhall/service/config'
import { parse } from 'yaml'
import { z } from 'zod'

/** Where a container finds its secrets. */
export const SECRETS_AT = '/run/secrets/'

const Secret = z.union([z.string(), z.object({ source: z.string(), target: z.string() })])
const Container = z.object({
  image: z.string(),
  command: z.array(z.string()).default([]),
  entrypoint: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string().nullable()).default({}),
  secrets: z.array(Secret).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  restart: z.string().default('no'),
  user: z.string().optional(),
  networks: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  profiles: z.array(z.string()).default([]),
})
export type Container = z.output<typeof Container>

const Compose = z.object({
  services: z.record(z.string(), Container),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
})
export type Compose = z.output<typeof Compose>

/** The text of docker-compose.yml. */
export const composeText = () =>
  readFile(fileURLToPath(new URL('../../../docker-compose.yml', import.meta.url)), 'utf8')

/** The document with its merge keys (`<<`) followed. */
export const parseYaml = (text: string): unknown => parse(text, { merge: true })

/** docker-compose.yml as Docker Compose takes it with these settings. */
export function readCompose(text: string, env: Env): Compose {
  return Compose.parse(interpolated(parseYaml(text), env))
}

/** What one container's process finds in its environment: a name without a value is passed on where it is set. */
export function environmentOf({ environment }: Container, env: Env): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => {
      const given = value ?? env[name]
      return given ? [[name, given]] : []
    }),
  )
}

/** The one form of a variable that docker-compose.yml uses. */
const VARIABLE = /\$\{([A-Z_]+):-([^}]*)\}/g

function interpolated(node: unknown, env: Env): unknown {
  if (typeof node === 'string')
    return node.replaceAll(VARIABLE, (_, name: string, otherwise: string) => env[name] || otherwise)
  if (Array.isArray(node)) return node.map((item) => interpolated(item, env))
  if (node === null || typeof node !== 'object') return node
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, interpolated(value, env)]),
  )
}

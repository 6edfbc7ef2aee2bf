import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { services } from '@guildhall/contracts/names'
import { Settings as GatewaySettings } from '@guildhall/gateway/config'
import { z } from 'zod'
import { parts } from './services.ts'

const file = fileURLToPath(new URL('../../.env.example', import.meta.url))

const HEAD = `# Every setting of Guildhall. npm start needs none of them: it makes keys, brings its own Postgres
# and NATS, and emulates the outside services. Copy to .env and set what you need. NAME_FILE may hold
# the path of a file with the value of NAME. Generated from the settings' schemas by
# node scripts/bootstrap.mjs scripts/src/env-example.ts --write
`

/** The text of .env.example: each setting once, with who reads it, what it means and its default. */
export function envExample(): string {
  const readers = {
    gateway: GatewaySettings,
    ...Object.fromEntries(services.map((service) => [service, parts[service].Settings])),
  }
  const settings = new Map<string, { by: string[]; schema: z.ZodType }>()
  for (const [reader, { shape }] of Object.entries(readers)) {
    for (const [name, schema] of Object.entries(shape)) {
      const known = settings.get(name) ?? { by: [], schema: schema as z.ZodType }
      settings.set(name, { ...known, by: [...known.by, reader] })
    }
  }
  const own = [
    'GUILDHALL_HOME',
    '',
    'Folder of the data of npm start; default .guildhall',
    'npm start',
  ] as const
  const lines = [...settings].map(([name, { by, schema }]) =>
    entry(name, defaultOf(name, schema), schema.description ?? '', by.join(', ')),
  )
  return `${HEAD}\n${entry(...own)}${lines.join('')}`
}

function entry(name: string, value: string, description: string, readers: string) {
  return `\n# ${description} (${readers})\n# ${name}=${value}\n`
}

/** What npm start sets is shown as such; anything else as its schema's default. */
function defaultOf(name: string, schema: z.ZodType): string {
  if (name === 'ACCESS_ENFORCE') return 'true'
  const { default: value } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return value === undefined ? '' : String(value)
}

if (import.meta.main) {
  if (process.argv.includes('--write')) await writeFile(file, envExample())
  else process.exitCode = (await readFile(file, 'utf8')) === envExample() ? 0 : 1
}

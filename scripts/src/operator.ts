import { parseArgs } from 'node:util'
import { SettingsError } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { loadDotEnv } from './home.ts'
import { configCheck } from './operator/config-check.ts'
import { natsAuthorization, type Said, UsageError } from './operator/context.ts'
import { fromFiles } from './operator/from-files.ts'
import { jobsList, jobsRun } from './operator/jobs.ts'
import { migrateAllUp, migrateOneDown } from './operator/migrations.ts'
import { orgCreate, orgList, orgModules, orgPurge } from './operator/orgs.ts'
import { searchRebuild } from './operator/search.ts'

const HELP = `Usage: npm run operator -- <command> [--json]

  config check                  settings, packs, database, migrations and NATS; fails on a fault
  org list                      every org
  org create --name <text> --prefix <text> --guild-id <id>
             [--officer-role-id <id>] [--off <module,module>]
  org modules <prefix> [--on <module,…>] [--off <module,…>]
  org purge <prefix> --yes      terminates the pods of a deactivated org and deletes it at every service;
             [--leave-pods]     may be repeated; with the flag also where pods cannot be terminated
  jobs list                     every job and when it runs
  jobs run <job> [-a name=value …]   value @file reads a file; waits for the end
  search rebuild                makes the search index again while searches go on; safe to repeat
  nats users                    the authorization block of a nats-server of your own
  migrate up                    brings every schema to the newest revision
  migrate down <service> --yes  takes one schema one revision back
`

/** These are followed by a name. */
const NAMED = ['org modules', 'org purge', 'jobs run', 'migrate down']

/** `npm run operator -- …`: exits with 0 when done, 1 on a fault, 2 when called wrongly. */
async function main() {
  loadDotEnv()
  const { values, positionals } = parse()
  const [noun, verb, name, ...surplus] = positionals
  const env = fromFiles(process.env)
  const commands: Record<string, () => Promise<Said>> = {
    'config check': () => configCheck(env),
    'org list': () => orgList(env),
    'org create': () => orgCreate(env, values),
    'org modules': () => orgModules(env, name, values),
    'org purge': () => orgPurge(env, name, values),
    'jobs list': () => jobsList(),
    'jobs run': () => jobsRun(env, name, values.argument ?? []),
    'search rebuild': () => searchRebuild(env),
    'nats users': () => natsAuthorization(env),
    'migrate up': () => migrateAllUp(env),
    'migrate down': () => migrateOneDown(env, name, values.yes ?? false),
  }
  const asked = `${noun} ${verb}`
  const command = commands[asked]
  if (values.help || !command) return say(HELP, values.help || !noun ? 0 : 2)
  const extra = NAMED.includes(asked) ? surplus[0] : name
  if (extra !== undefined) return say(`${asked} takes no ${extra}\n\n${HELP}`, 2)
  const said = await command()
  const code = said.fault ? 1 : 0
  if (!values.json) return say(said.text, code)
  process.stdout.write(`${JSON.stringify(said.json, null, 2)}\n`)
  process.exit(code)
}

function parse() {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        name: text,
        prefix: text,
        'guild-id': text,
        'officer-role-id': text,
        on: text,
        off: text,
        argument: { type: 'string', short: 'a', multiple: true },
        yes: { type: 'boolean' },
        'leave-pods': { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    return say(`${(error as Error).message}\n\n${HELP}`, 2)
  }
}

function say(text: string, code: number): never {
  const out = code === 0 ? process.stdout : process.stderr
  out.write(text.endsWith('\n') ? text : `${text}\n`)
  process.exit(code)
}

await main().catch((error: Error) => {
  if (error instanceof z.ZodError) say(z.prettifyError(error), 2)
  const plain = error instanceof SettingsError || error instanceof AppError
  say(plain ? error.message : String(error.stack), error instanceof UsageError ? 2 : 1)
})

import type { Env } from '@guildhall/service/config'
import { backup } from './backup.ts'
import { configCheck } from './config-check.ts'
import { natsAuthorization, type Said } from './context.ts'
import { jobsList, jobsRun } from './jobs.ts'
import { migrateAllUp, migrateOneDown } from './migrations.ts'
import { orgCreate, orgList, orgModules, orgPurge } from './orgs.ts'
import { restore } from './restore.ts'
import { searchRebuild } from './search.ts'

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const

/** Every flag that some command takes. */
export const flags = {
  name: text,
  prefix: text,
  'guild-id': text,
  'officer-role-id': text,
  on: text,
  off: text,
  argument: { type: 'string', short: 'a', multiple: true },
  yes: flag,
  'leave-pods': flag,
  'with-keys': flag,
  'passphrase-file': text,
} as const
type FlagName = keyof typeof flags

/** What was given of them. */
export type Given = {
  [Name in FlagName]?:
    | ((typeof flags)[Name] extends { multiple: true }
        ? string[]
        : (typeof flags)[Name] extends { type: 'boolean' }
          ? boolean
          : string)
    | undefined
}

/** One command of `npm run operator`. */
export interface Command {
  /** Its words: `org list`. */
  words: string
  /** What may follow them. */
  operand?: string
  flags: readonly FlagName[]
  /** How the flags are written, for the help. */
  usage?: string
  summary: string
  run(env: Env, operand: string | undefined, given: Given): Promise<Said>
}

const keyFlags = ['with-keys', 'passphrase-file'] as const
const keyUsage = '[--with-keys --passphrase-file <file>]'

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  {
    words: 'config check',
    flags: [],
    summary: 'settings, packs, database, migrations and NATS; names every fault',
    run: (env) => configCheck(env),
  },
  { words: 'org list', flags: [], summary: 'every org', run: (env) => orgList(env) },
  {
    words: 'org create',
    flags: ['name', 'prefix', 'guild-id', 'officer-role-id', 'off'],
    usage:
      '--name <text> --prefix <text> --guild-id <id> [--officer-role-id <id>] [--off <module,…>]',
    summary: 'makes an org; one that is there already is left as it is',
    run: (env, _, given) => orgCreate(env, given),
  },
  {
    words: 'org modules',
    operand: '<prefix>',
    flags: ['on', 'off'],
    usage: '[--on <module,…>] [--off <module,…>]',
    summary: 'switches modules of an org',
    run: orgModules,
  },
  {
    words: 'org purge',
    operand: '<prefix>',
    flags: ['yes', 'leave-pods'],
    usage: '--yes [--leave-pods]',
    summary:
      'terminates the pods of a deactivated org and deletes it at every service; may be repeated; --leave-pods also where pods cannot be terminated',
    run: orgPurge,
  },
  { words: 'jobs list', flags: [], summary: 'every job and when it runs', run: () => jobsList() },
  {
    words: 'jobs run',
    operand: '<job>',
    flags: ['argument'],
    usage: '[-a name=value …]',
    summary: 'runs a job at its service and waits for the end; value @file reads a file',
    run: (env, job, given) => jobsRun(env, job, given.argument ?? []),
  },
  {
    words: 'backup',
    operand: '<file>',
    flags: keyFlags,
    usage: keyUsage,
    summary: 'copies all data of one moment to a new file, while everything runs',
    run: backup,
  },
  {
    words: 'restore',
    operand: '<file>',
    flags: keyFlags,
    usage: keyUsage,
    summary: 'fills an empty deployment with a backup; everything or nothing',
    run: restore,
  },
  {
    words: 'search rebuild',
    flags: [],
    summary: 'makes the search index again while searches go on; safe to repeat',
    run: (env) => searchRebuild(env),
  },
  {
    words: 'nats users',
    flags: [],
    summary: 'the authorization block of a nats-server of your own; it holds passwords',
    run: (env) => natsAuthorization(env),
  },
  {
    words: 'migrate up',
    flags: [],
    summary: 'brings every schema to the newest revision',
    run: (env) => migrateAllUp(env),
  },
  {
    words: 'migrate down',
    operand: '<service>',
    flags: ['yes'],
    usage: '--yes',
    summary: 'takes one schema one revision back, with the data that the revision added',
    run: (env, service, given) => migrateOneDown(env, service, given.yes ?? false),
  },
]

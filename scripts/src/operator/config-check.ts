import { Settings as KnowledgeSettings } from '@guildhall/knowledge/config'
import { loadPacks, packFolders } from '@guildhall/knowledge/packs/load'
import { type Env, readSettings, trackerSettings, withoutEffect } from '@guildhall/service/config'
import { z } from 'zod'
import {
  connectAsOperator,
  hasDatabase,
  nothingInstalled,
  type Said,
  settingsSoFar,
  table,
  withDatabase,
} from './context.ts'
import { pendingByService } from './migrations.ts'
import { contradictions, schemas, unknownSettings } from './setting-checks.ts'

interface Check {
  check: string
  result: string
  ok: boolean
  /** It works, but not as somebody may think. */
  warning?: boolean
}

/** Settings, packs, the two servers and the migrations, all faults at once; also before the first start. */
export async function configCheck(env: Env): Promise<Said> {
  const settings = await settingsSoFar(env).catch(() => settingsWithoutFiles(env))
  const checks = [
    ...settingsChecks(settings),
    effectCheck(settings),
    listCheck('unknown settings', unknownSettings(env)),
    listCheck('contradictions', contradictions(env)),
    await packsCheck(settings),
    await databaseCheck(env, settings),
    await natsCheck(settings),
  ]
  const text = table(
    checks.map((one) => ({ check: one.check, ok: wordOf(one), result: one.result })),
  )
  return { text, json: checks, fault: checks.some(({ ok }) => !ok) }
}

/** Where a file cannot be read: its setting stays unset, and each check of `NAME_FILE` tells why. */
async function settingsWithoutFiles(env: Env): Promise<Env> {
  const entries = Object.entries(env)
  const plain = Object.fromEntries(entries.filter(([name]) => !name.endsWith('_FILE')))
  const settings = await settingsSoFar(plain)
  const unset = entries
    .filter(([name, file]) => file && name.endsWith('_FILE'))
    .map(([name]) => name.slice(0, -'_FILE'.length))
    .filter((name) => !env[name])
  return { ...settings, ...Object.fromEntries(unset.map((name) => [name, undefined])), ...env }
}

const listCheck = (check: string, faults: string[]): Check => ({
  check,
  ok: faults.length === 0,
  result: faults.join('\n  ') || 'none',
})

function wordOf({ ok, warning }: Check) {
  if (!ok) return 'FAULT'
  return warning ? 'WARNING' : 'ok'
}

/** Settings that are accepted and change nothing; those of a wrong one are told of by `settings of`. */
function effectCheck(settings: Env): Check {
  const warnings = warningsOf(settings)
  const result = warnings.join('\n  ') || 'none'
  return { check: 'settings without effect', ok: true, warning: warnings.length > 0, result }
}

function warningsOf(settings: Env): string[] {
  try {
    return withoutEffect(readSettings(TrackerSettings, settings))
  } catch {
    return []
  }
}
const TrackerSettings = z.object(trackerSettings)

/** Where these are unset the embedded servers stand in. */
const EMBEDDED = { DATABASE_URL: 'postgres://embedded', NATS_URL: 'nats://embedded' }
/** Keys that the first start makes. */
const MADE = Object.fromEntries(
  ['SECRET_KEY', 'SECRETS_KEY', 'INTERNAL_KEY'].map((name) => [name, '0'.repeat(64)]),
)
const isInstalled = (settings: Env) => hasDatabase(settings) || Boolean(settings.DATABASE_URL_FILE)

function settingsChecks(settings: Env): Check[] {
  const whole = { ...(isInstalled(settings) ? EMBEDDED : { ...EMBEDDED, ...MADE }), ...settings }
  return Object.entries(schemas).map(([name, schema]) => {
    try {
      readSettings(schema, whole)
      return { check: `settings of ${name}`, ok: true, result: 'accepted' }
    } catch (error) {
      return { check: `settings of ${name}`, ok: false, result: (error as Error).message }
    }
  })
}

const { KNOWLEDGE_PACKS_DIR, PACK_SETTINGS } = KnowledgeSettings.shape
const PacksSettings = z.object({ KNOWLEDGE_PACKS_DIR, PACK_SETTINGS })

/** Loads the packs as knowledge does at its start. */
async function packsCheck(settings: Env): Promise<Check> {
  try {
    const given = readSettings(PacksSettings, settings)
    const packs = await loadPacks(packFolders(given), given.PACK_SETTINGS)
    return { check: 'packs', ok: true, result: packs.map(({ name }) => name).join(', ') }
  } catch (error) {
    return { check: 'packs', ok: false, result: (error as Error).message }
  }
}

async function databaseCheck(env: Env, settings: Env): Promise<Check> {
  if (!isInstalled(settings)) {
    return { check: 'database', ok: false, result: nothingInstalled(settings) }
  }
  try {
    const pending = await withDatabase(env, (url, internalKey) =>
      pendingByService({ url, internalKey, env }),
    )
    const faults = Object.entries(pending).flatMap(([service, found]) => {
      if (found instanceof Error) return [{ service, fault: found.message }]
      const fault = `misses ${found.join(', ')}: run migrate up`
      return found.length > 0 ? [{ service, fault }] : []
    })
    // one server that is away is one fault of all
    const alike = Map.groupBy(faults, ({ fault }) => fault)
    const lines = [...alike].map(
      ([fault, all]) => `${all.map(({ service }) => service).join(', ')}: ${fault}`,
    )
    const result = lines.join('; ') || 'answers; migrations applied'
    return { check: 'database', ok: faults.length === 0, result }
  } catch (error) {
    return { check: 'database', ok: false, result: (error as Error).message }
  }
}

async function natsCheck(settings: Env): Promise<Check> {
  if (!settings.NATS_URL)
    return { check: 'nats', ok: true, result: 'embedded; starts with npm start' }
  try {
    await using _bus = await connectAsOperator(settings, 'fatal')
    return { check: 'nats', ok: true, result: 'answers' }
  } catch (error) {
    return { check: 'nats', ok: false, result: (error as Error).message }
  }
}

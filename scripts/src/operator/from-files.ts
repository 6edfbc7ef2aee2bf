import { readFileSync } from 'node:fs'
import { Settings as GatewaySettings } from '@guildhall/gateway/config'
import { type Env, SettingsError } from '@guildhall/service/config'
import { parts } from '../services.ts'

/** The environment with each setting that stands in a file, by NAME_FILE, under its own name. Throws SettingsError. */
export function fromFiles(env: Env): Env {
  const schemas = [GatewaySettings, ...Object.values(parts).map(({ Settings }) => Settings)]
  const names = new Set(schemas.flatMap(({ shape }) => Object.keys(shape)))
  const read = [...names].flatMap((name) => {
    const file = env[`${name}_FILE`]
    return file && !env[name] ? [[name, textOf(`${name}_FILE`, file)]] : []
  })
  return { ...env, ...Object.fromEntries(read) }
}

function textOf(name: string, file: string) {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new SettingsError(`${name}: ${(error as Error).message}`)
  }
}

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Env, SettingsError } from '@guildhall/service/config'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Where an installation keeps its data: GUILDHALL_HOME, else `.guildhall` of the checkout. */
export const homeOf = ({ GUILDHALL_HOME }: Env) => GUILDHALL_HOME || join(root, '.guildhall')

/** Reads `.env` of the checkout into the environment; what is set already stays. */
export function loadDotEnv() {
  try {
    process.loadEnvFile(join(root, '.env'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** The text of a file, or nothing where there is none; any other fault is thrown. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export type Mode = 'demo' | 'real'

/** Marks a new data folder as demo or real; throws where it is the other, so that the two never mix. */
export async function markHome(home: string, mode: Mode) {
  await mkdir(home, { recursive: true, mode: 0o700 })
  const marked = await modeOf(home)
  if (marked === undefined) return writeFile(modeFile(home), `${mode}\n`)
  if (marked === mode) return
  const why =
    mode === 'real'
      ? 'holds demo data, but outside credentials are set'
      : 'holds real data, but no outside credential is set'
  throw new SettingsError(
    `${home} ${why}. Set GUILDHALL_HOME to another folder, or change the credentials.`,
  )
}

const modeFile = (home: string) => join(home, 'mode')

/** What a data folder is marked as; nothing where it is new. */
export const modeOf = async (home: string) => (await readIfThere(modeFile(home)))?.trim()

/** How commands reach the running installation. */
export interface RunningStack {
  pid: number
  url: string
  DATABASE_URL: string
  NATS_URL: string
}

const runFile = (home: string) => join(home, 'running.json')

export const writeRunning = (home: string, running: RunningStack) =>
  writeFile(runFile(home), JSON.stringify(running), { mode: 0o600 })

export const removeRunning = (home: string) => rm(runFile(home), { force: true })

/** The installation that runs from this home, or nothing; what a killed one left is not believed. */
export async function readRunning(home: string): Promise<RunningStack | undefined> {
  const text = await readIfThere(runFile(home))
  if (text === undefined) return undefined
  const running = JSON.parse(text) as RunningStack
  try {
    process.kill(running.pid, 0)
    return running
  } catch {
    return undefined // it was killed
  }
}

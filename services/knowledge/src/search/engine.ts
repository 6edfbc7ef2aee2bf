import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '@guildhall/service/log'
import type { Config } from '../config.ts'
import { openEmbedded } from './embedded.ts'
import { GENERATION, type PassageIndex } from './index.ts'
import { dropServers, openServers } from './servers.ts'

/** Where generations of the index are kept. */
export interface Engine {
  name: 'embedded' | 'servers'
  /** Several processes may use it at once; the other has one, which holds a lock. */
  shared: boolean
  /** Opens a generation; a missing one is made. */
  open(generation: string): Promise<PassageIndex>
  drop(generation: string): Promise<void>
  /** Drops what an earlier configuration left, as far as it can be known. */
  tidy(kept: readonly string[]): Promise<void>
}

/** The engine that the settings choose: the servers if both are set. */
export function engineOf(config: Config, log: Log): Engine {
  const { MEILI_URL, MEILI_API_KEY, QDRANT_URL, QDRANT_API_KEY } = config
  if (!MEILI_URL || !QDRANT_URL) return embeddedEngine(config.KNOWLEDGE_INDEX_DIR, log)
  const meili = { url: MEILI_URL, apiKey: MEILI_API_KEY }
  const qdrant = { url: QDRANT_URL, apiKey: QDRANT_API_KEY }
  const named = (generation: string) => ({ meili, qdrant, name: `guildhall-${generation}` })
  return {
    name: 'servers',
    shared: true,
    open: (generation) => openServers(named(generation)),
    drop: (generation) => dropServers(named(generation)),
    tidy: async () => {}, // another installation may use the same servers
  }
}

function embeddedEngine(dir: string, log: Log): Engine {
  const drop = (name: string) =>
    rm(join(dir, name), { recursive: true, force: true, maxRetries: 5 })
  return {
    name: 'embedded',
    shared: false,
    open: (generation) => openEmbedded({ dir: join(dir, generation), log }),
    drop,
    async tidy(kept) {
      const names = await readdir(dir).catch((): string[] => [])
      const ours = (name: string) => GENERATION.test(name) || name === BEFORE_GENERATIONS
      for (const name of names) if (ours(name) && !kept.includes(name)) await drop(name)
    },
  }
}

/** What the folder held when an index had no generations. */
const BEFORE_GENERATIONS = 'passages.lance'

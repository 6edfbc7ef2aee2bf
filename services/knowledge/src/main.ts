import { openService } from '@guildhall/bus/open-service'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { createEmbedders } from './clients/embedders.ts'
import { createOrgSecrets } from './clients/org-secrets.ts'
import { createOrgs } from './clients/orgs.ts'
import { type Config, readConfig } from './config.ts'
import { createCrawler } from './crawls/crawler.ts'
import type { Bounds } from './crawls/fetch.ts'
import { migrations, type Tables } from './db.ts'
import type { Deps } from './deps.ts'
import { createExtractor } from './documents/worker.ts'
import { createIndexer } from './indexing/indexer.ts'
import { resumeRebuild } from './indexing/rebuild.ts'
import { takeTurns } from './indexing/source-lock.ts'
import { jobHandlers } from './jobs.ts'
import { loadPacks, packFolders } from './packs/load.ts'
import { engineOf } from './search/engine.ts'
import { openGenerations } from './search/generations.ts'
import { createLegs } from './search/legs.ts'
import { createPublishers } from './search/publishers.ts'

/** Starts knowledge: sources, their index and the search. Waits while another process writes the index. */
export async function start(
  config: Config,
  now = () => new Date(),
  /** Of URLs that officers gave. Tests alone set them. */
  bounds: Bounds = {},
): Promise<Running> {
  const { KNOWLEDGE_PORT: PORT, KNOWLEDGE_DATABASE_URL: OWN_DATABASE_URL } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  const packs = await loadPacks(packFolders(config), config.PACK_SETTINGS)
  await using opened = await openService<Tables>('knowledge', common, migrations)
  const { db, bus, log, signal, ready } = opened
  const engine = engineOf(config, log)
  const { alone, keep } = await takeTurns(engine, opened)
  const index = await openGenerations({ db, engine, log })
  opened.onClose(() => index.close())
  const extractor = createExtractor()
  opened.onClose(() => extractor.close())
  const indexer = createIndexer({ db, index, log, alone })
  const legs = createLegs(log)
  const prefixes = config.KNOWLEDGE_PUBLISHERS
  const publishers = createPublishers({ bus, prefixes, leg: legs.auth })
  const secrets = createOrgSecrets(bus, legs.auth)
  const secretsOf = secrets.current
  const guard = { blockedNetworks: config.KNOWLEDGE_BLOCKED_NETWORKS, ...bounds }
  const needs = { config, guard, log, leg: legs.embedder }
  const embedderOf = createEmbedders({ ...needs, secretsOf })
  const searchEmbedderOf = createEmbedders({ ...needs, secretsOf: secrets.last })
  const searching = { index, indexer, legs, publishers, embedderOf, searchEmbedderOf }
  const reading = { extractor, secretsOf, packs, guard }
  const deps: Deps = { db, log, config, ...searching, ...reading, now }
  const orgOf = createOrgs(bus)
  const crawler = createCrawler(deps, orgOf, guard)
  answerCalls(bus, deps)
  ready.index = indexer.readiness
  const { service, callerKey } = opened
  const app = buildApp({ service, log, callerKey, ready: { ...ready } }, deps)
  ready.search = legs.state // from here on for the superadmin's health alone: searches go on with the other part
  const catchUp = async () => {
    await indexer.catchUp(signal)
    await resumeRebuild(deps, signal)
  }
  return await opened.serve(app, jobHandlers({ ...deps, orgOf }, crawler), [
    keep(signal),
    catchUp(),
  ])
}

if (import.meta.main) await runProcess('knowledge', () => start(readConfig()))

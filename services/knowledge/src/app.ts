import { type AppDeps, createApp } from '@guildhall/service/app'
import { crawlRoutes } from './crawls/routes.ts'
import type { Deps } from './deps.ts'
import { documentRoutes } from './documents/routes.ts'
import { textDocumentRoutes } from './documents/text-routes.ts'
import { packRoutes } from './packs/routes.ts'
import { reembedRoutes } from './reembed/routes.ts'
import { runRoutes } from './runs/routes.ts'
import { searchRoutes } from './search/routes.ts'
import { settingsRoutes } from './settings/routes.ts'
import { sourceRoutes } from './sources/routes.ts'
import { textRoutes } from './sources/text-routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  sourceRoutes(app, deps)
  searchRoutes(app, deps)
  documentRoutes(app, deps)
  textDocumentRoutes(app, deps)
  textRoutes(app, deps)
  settingsRoutes(app, deps)
  runRoutes(app, deps)
  reembedRoutes(app, deps)
  crawlRoutes(app, deps)
  packRoutes(app, deps)
  return app
}

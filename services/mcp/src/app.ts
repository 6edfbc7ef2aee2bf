import { type AppDeps, createApp } from '@guildhall/service/app'
import type { Deps } from './deps.ts'
import { mcpRoutes } from './protocol/routes.ts'
import { serverFor } from './protocol/server.ts'
import { toolRoutes } from './tools/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  mcpRoutes(app, deps, (asked) => serverFor(deps, asked))
  toolRoutes(app, deps)
  return app
}

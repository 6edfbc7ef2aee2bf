import { type AppDeps, createApp } from '@guildhall/service/app'
import type { Deps } from './deps.ts'
import { eventRoutes } from './events/routes.ts'
import { postRoutes } from './posts/routes.ts'
import { settingsRoutes } from './settings/routes.ts'
import { syncRoutes } from './sync/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  settingsRoutes(app, deps)
  syncRoutes(app, deps)
  eventRoutes(app, deps)
  postRoutes(app, deps)
  return app
}

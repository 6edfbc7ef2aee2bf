import { type AppDeps, createApp } from '@guildhall/service/app'
import { appRoutes } from './apps/routes.ts'
import { connectRoutes } from './connect/routes.ts'
import type { Deps } from './deps.ts'
import { fileRoutes } from './files/routes.ts'
import { hostKeyRoutes } from './host-keys/routes.ts'
import { podRoutes } from './pods/routes.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { settingsRoutes } from './settings/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  podRoutes(app, deps)
  hostKeyRoutes(app, deps)
  settingsRoutes(app, deps)
  sessionRoutes(app, deps)
  connectRoutes(app, deps)
  fileRoutes(app, deps)
  appRoutes(app, deps)
  return app
}

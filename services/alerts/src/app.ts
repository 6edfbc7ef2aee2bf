import { type AppDeps, createApp } from '@guildhall/service/app'
import type { Deps } from './deps.ts'
import { presetRoutes } from './feeds/presets.ts'
import { feedRoutes } from './feeds/routes.ts'
import { saveRoutes } from './feeds/save.ts'
import { itemRoutes } from './items/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  feedRoutes(app, deps)
  saveRoutes(app, deps)
  itemRoutes(app, deps)
  presetRoutes(app, deps)
  return app
}

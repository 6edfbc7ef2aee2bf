import { type AppDeps, createApp } from '@guildhall/service/app'
import type { Deps } from './deps.ts'
import { documentRoutes } from './documents/routes.ts'
import { searchRoutes } from './search/routes.ts'
import { sourceRoutes } from './sources/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  sourceRoutes(app, deps)
  searchRoutes(app, deps)
  documentRoutes(app, deps)
  return app
}

import { type AppDeps, createApp } from '@guildhall/service/app'
import { auditRoutes } from './audit/routes.ts'
import type { Deps } from './deps.ts'
import { reportRoutes } from './errors/report.ts'
import { errorRoutes } from './errors/routes.ts'
import { healthRoutes } from './health/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  auditRoutes(app, deps)
  errorRoutes(app, deps)
  reportRoutes(app, deps)
  healthRoutes(app, deps)
  return app
}

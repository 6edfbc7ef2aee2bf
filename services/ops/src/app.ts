import { type AppDeps, createApp } from '@guildhall/service/app'
import { auditRoutes } from './audit/routes.ts'
import { ciRoutes } from './ci/routes.ts'
import type { Deps } from './deps.ts'
import { reportRoutes } from './errors/report.ts'
import { errorRoutes } from './errors/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { jobRoutes } from './job-runs/routes.ts'
import { notificationRoutes } from './notifications/routes.ts'
import { overviewRoutes } from './overview/routes.ts'
import { trendRoutes } from './trends/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  auditRoutes(app, deps)
  errorRoutes(app, deps)
  reportRoutes(app, deps)
  healthRoutes(app, deps)
  overviewRoutes(app, deps)
  trendRoutes(app, deps)
  notificationRoutes(app, deps)
  jobRoutes(app, deps)
  ciRoutes(app, deps)
  return app
}

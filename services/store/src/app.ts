import { type AppDeps, createApp } from '@guildhall/service/app'
import type { Deps } from './deps.ts'
import { importRoutes } from './imports/routes.ts'
import { memberRoutes } from './members/routes.ts'
import { memberOrderRoutes } from './orders/member-routes.ts'
import { orderRoutes } from './orders/routes.ts'
import { pointRoutes } from './points/routes.ts'
import { standingRoutes } from './points/standings.ts'
import { productRoutes } from './products/routes.ts'
import { siteRoutes } from './site/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  memberRoutes(app, deps)
  pointRoutes(app, deps)
  standingRoutes(app, deps)
  importRoutes(app, deps)
  siteRoutes(app, deps)
  productRoutes(app, deps)
  orderRoutes(app, deps)
  memberOrderRoutes(app, deps)
  return app
}

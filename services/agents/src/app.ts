import { type AppDeps, createApp } from '@guildhall/service/app'
import { conversationRoutes } from './conversations/routes.ts'
import type { Deps } from './deps.ts'
import { memoryRoutes } from './memories/routes.ts'
import { pendingRoutes } from './pending/routes.ts'
import { profileRoutes } from './profile/routes.ts'
import { selfRoutes } from './self/routes.ts'
import { turnRoutes } from './turns/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  conversationRoutes(app, deps)
  memoryRoutes(app, deps)
  profileRoutes(app, deps)
  pendingRoutes(app, deps)
  turnRoutes(app, deps)
  selfRoutes(app, deps)
  return app
}

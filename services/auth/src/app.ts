import { type AppDeps, createApp } from '@guildhall/service/app'
import { accountRoutes } from './accounts/routes.ts'
import { memberSignInRoutes } from './accounts/sign-in.ts'
import { appTokenRoutes } from './app-tokens/routes.ts'
import type { Deps } from './deps.ts'
import { machineTokenRoutes } from './machine-tokens/routes.ts'
import { memberRoutes } from './members/routes.ts'
import { orgRoutes } from './orgs/routes.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { tokenPairRoutes } from './token-pairs/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  signInRoutes(app, deps)
  tokenPairRoutes(app, deps)
  machineTokenRoutes(app, deps)
  orgRoutes(app, deps)
  memberSignInRoutes(app, deps)
  accountRoutes(app, deps)
  memberRoutes(app, deps)
  appTokenRoutes(app, deps)
  return app
}

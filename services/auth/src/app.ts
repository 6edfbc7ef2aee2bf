import { type AppDeps, createApp } from '@guildhall/service/app'
import { accountRoutes } from './accounts/routes.ts'
import { memberSignInRoutes } from './accounts/sign-in.ts'
import { appTokenRoutes } from './app-tokens/routes.ts'
import { cliLogoutRoutes } from './cli/logout.ts'
import { cliSignInRoutes } from './cli/routes.ts'
import type { Deps } from './deps.ts'
import { integrationRoutes } from './integrations/routes.ts'
import { machineTokenRoutes } from './machine-tokens/routes.ts'
import { memberRoutes } from './members/routes.ts'
import { brandingRoutes } from './orgs/branding.ts'
import { orgRoutes } from './orgs/routes.ts'
import { secretRoutes } from './secrets/routes.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { activateRoutes } from './superadmin/activate.ts'
import { guildRoutes } from './superadmin/guilds.ts'
import { superadminRoutes } from './superadmin/routes.ts'
import { tokenPairRoutes } from './token-pairs/routes.ts'

export function buildApp(frame: AppDeps, deps: Deps) {
  const app = createApp(frame)
  signInRoutes(app, deps)
  tokenPairRoutes(app, deps)
  machineTokenRoutes(app, deps)
  cliSignInRoutes(app, deps)
  cliLogoutRoutes(app, deps)
  orgRoutes(app, deps)
  memberSignInRoutes(app, deps)
  accountRoutes(app, deps)
  memberRoutes(app, deps)
  appTokenRoutes(app, deps)
  brandingRoutes(app, deps)
  secretRoutes(app, deps)
  integrationRoutes(app, deps)
  superadminRoutes(app, deps)
  activateRoutes(app, deps)
  guildRoutes(app, deps)
  return app
}

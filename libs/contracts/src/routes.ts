import * as accounts from './accounts.ts'
import * as agentConversations from './agent-conversations.ts'
import * as agentMemories from './agent-memories.ts'
import * as agentPending from './agent-pending.ts'
import * as agentProfile from './agent-profile.ts'
import * as agentSelf from './agent-self.ts'
import * as agentTurns from './agent-turns.ts'
import * as alerts from './alerts.ts'
import * as appTokens from './app-tokens.ts'
import * as apps from './apps.ts'
import * as appsDashboard from './apps-dashboard.ts'
import * as auth from './auth.ts'
import * as calendar from './calendar.ts'
import * as ci from './ci.ts'
import * as cliTokens from './cli-tokens.ts'
import * as compute from './compute.ts'
import * as connect from './connect.ts'
import * as dashboard from './dashboard.ts'
import * as errorGroups from './error-groups.ts'
import * as eventPosts from './event-posts.ts'
import * as integrations from './integrations.ts'
import * as jobRuns from './job-runs.ts'
import * as knowledge from './knowledge.ts'
import * as knowledgeCrawls from './knowledge-crawls.ts'
import * as knowledgeDashboard from './knowledge-dashboard.ts'
import * as knowledgeDocuments from './knowledge-documents.ts'
import * as knowledgeSettings from './knowledge-settings.ts'
import * as mcp from './mcp.ts'
import * as members from './members.ts'
import * as notifications from './notifications.ts'
import * as ops from './ops.ts'
import * as orgs from './orgs.ts'
import * as packs from './packs.ts'
import * as podFiles from './pod-files.ts'
import * as podSessions from './pod-sessions.ts'
import * as pointImports from './point-imports.ts'
import * as points from './points.ts'
import type { Route } from './route.ts'
import * as secrets from './secrets.ts'
import * as storeMembers from './store-members.ts'
import * as storeOrders from './store-orders.ts'
import * as storeProducts from './store-products.ts'
import * as superadmin from './superadmin.ts'
import * as tokens from './tokens.ts'

import * as trends from './trends.ts'

const domains = {
  auth,
  accounts,
  appTokens,
  orgs,
  secrets,
  integrations,
  superadmin,
  tokens,
  members,
  cliTokens,
  compute,
  connect,
  podFiles,
  podSessions,
  apps,
  appsDashboard,
  knowledge,
  knowledgeCrawls,
  knowledgeDashboard,
  knowledgeDocuments,
  knowledgeSettings,
  packs,
  agentConversations,
  agentMemories,
  agentProfile,
  agentPending,
  agentTurns,
  agentSelf,
  points,
  pointImports,
  storeMembers,
  storeProducts,
  storeOrders,
  calendar,
  eventPosts,
  alerts,
  ops,
  dashboard,
  trends,
  notifications,
  jobRuns,
  ci,
  errorGroups,
  mcp,
}

/** Every route there is, under its exported name. */
export const routes = Object.values(domains).flatMap((domain) =>
  Object.entries<unknown>(domain).flatMap(([name, value]) =>
    isRoute(value) ? [{ name, route: value }] : [],
  ),
)

function isRoute(value: unknown): value is Route {
  return typeof value === 'object' && value !== null && 'url' in value && 'reply' in value
}

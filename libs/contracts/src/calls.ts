import * as accounts from './accounts.ts'
import * as agentProfile from './agent-profile.ts'
import * as alertWebhooks from './alert-webhooks.ts'
import * as alerts from './alerts.ts'
import * as apps from './apps.ts'
import * as auth from './auth.ts'
import { botCalls } from './bot.ts'
import * as calendar from './calendar.ts'
import type { Call } from './call.ts'
import * as compute from './compute.ts'
import * as dashboard from './dashboard.ts'
import * as embeddings from './embeddings.ts'
import * as eventPosts from './event-posts.ts'
import type { Job } from './job.ts'
import * as jobRuns from './job-runs.ts'
import * as knowledge from './knowledge.ts'
import * as knowledgeCrawls from './knowledge-crawls.ts'
import * as knowledgeSettings from './knowledge-settings.ts'
import * as members from './members.ts'
import * as notifications from './notifications.ts'
import * as ops from './ops.ts'
import * as orgs from './orgs.ts'
import * as packFeeds from './pack-feeds.ts'
import * as packs from './packs.ts'
import * as podSessions from './pod-sessions.ts'
import * as pointImports from './point-imports.ts'
import * as secrets from './secrets.ts'
import * as storeMembers from './store-members.ts'
import * as tokens from './tokens.ts'
import * as tool from './tool.ts'
import { toolCalls } from './tools.ts'
import * as trends from './trends.ts'

const values = [
  auth,
  accounts,
  orgs,
  tokens,
  members,
  secrets,
  knowledge,
  knowledgeCrawls,
  knowledgeSettings,
  packs,
  embeddings,
  agentProfile,
  compute,
  podSessions,
  apps,
  pointImports,
  storeMembers,
  calendar,
  alerts,
  alertWebhooks,
  eventPosts,
  packFeeds,
  ops,
  tool,
].flatMap((domain) => Object.values<unknown>(domain))

/** Every call between services there is. The walls of NATS are made from this list. */
export const calls: Call[] = [
  ...values.filter(isCall),
  ...ops.jobCalls,
  ...ops.readinessCalls,
  ...dashboard.sectionCalls,
  ...trends.trendCalls,
  ...notifications.problemCalls,
  notifications.findResolved,
  ...jobRuns.jobRunCalls,
  ...orgs.purgeCalls,
  ...orgs.forgetCalls,
  ...secrets.secretCalls,
  ...toolCalls,
  ...botCalls,
]

/** Every job there is. */
export const jobs: Job[] = [
  ...values.filter(isJob),
  notifications.forgetMended,
  ...Object.values(ops.pruneJobs),
]

function isCall(value: unknown): value is Call {
  return typeof value === 'object' && value !== null && 'callers' in value
}

function isJob(value: unknown): value is Job {
  return typeof value === 'object' && value !== null && 'attempts' in value
}

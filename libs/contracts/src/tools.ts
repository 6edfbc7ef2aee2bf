import {
  deleteFeed,
  getFeed,
  getFeedHistory,
  listFeeds,
  listPresets,
  putFeed,
  runFeedNow,
} from './alerts.ts'
import { deleteApp, deployApp, getApp, listApps, putApp, rollBackApp } from './apps.ts'
import { getOrgApp } from './apps-dashboard.ts'
import { listEvents, syncCalendar } from './calendar.ts'
import { actOnPod, createPod, getPod, listPods } from './compute.ts'
import { getOverview } from './dashboard.ts'
import { listOrgErrors, resolveOrgErrors } from './error-groups.ts'
import { deleteSource, listSources, search } from './knowledge.ts'
import { putCrawl, runCrawl, startReindex } from './knowledge-crawls.ts'
import { getOrgSource, getSourceText } from './knowledge-dashboard.ts'
import { addDocument, MOST_TOOL_DOCUMENT_CHARS, ToolDocumentText } from './knowledge-documents.ts'
import {
  getKnowledgeSettings,
  listKnowledgeRuns,
  putKnowledgeSettings,
} from './knowledge-settings.ts'
import { listOrgAudit } from './ops.ts'
import { getBranding, getOrg } from './orgs.ts'
import { listPacks, queryPack, syncPack } from './packs.ts'
import { listFiles, readFile, writeFile } from './pod-files.ts'
import { getPodSession, listPodSessions, planPodSession, removePodSession } from './pod-sessions.ts'
import { importPoints } from './point-imports.ts'
import { assignPoints, getLeaderboard, getUserPoints } from './points.ts'
import { callOf, type Tool, tool } from './tool.ts'
import { getTrends } from './trends.ts'

const AS_JSON = 'as JSON, where a line break is two, at most 1 000 000 bytes'

/** Of the tools that work on pods. */
const podTool = { scope: 'compute:manage', integration: 'podhost' } as const

/**
 * Every tool there is (decisions.md § 4). A row is all that a new one needs: its route takes machine tokens, or officers
 * and tools (`officerOrTool`).
 */
export const tools: readonly Tool[] = [
  tool({
    name: 'org.info',
    scope: 'org:read',
    route: getOrg,
    summary: 'Name, description, modules and branding of the org',
  }),
  tool({ name: 'org.branding', scope: 'org:read', route: getBranding }),
  tool({
    name: 'org.overview',
    scope: 'org:read',
    route: getOverview,
    summary:
      'Counts of members, points, pods and the rest, open problems, the newest activity and jobs',
  }),
  tool({
    name: 'org.trends',
    scope: 'org:read',
    route: getTrends,
    summary: 'One series a chart, one value a day, for the last 7 to 90 days',
  }),
  tool({
    name: 'activity.log',
    scope: 'activity:read',
    route: listOrgAudit,
    summary: 'Who did what in the org: its audit log, newest first',
  }),
  tool({ name: 'errors.list', scope: 'activity:read', route: listOrgErrors }),
  tool({ name: 'errors.resolve', scope: 'settings:write', route: resolveOrgErrors }),

  tool({
    name: 'knowledge.search',
    scope: 'knowledge:read',
    route: search,
    reads: true,
    without: ['embedding', 'embedding_model'],
    audited: false,
  }),
  tool({ name: 'knowledge.sources', scope: 'knowledge:read', route: listSources }),
  tool({ name: 'knowledge.read_source', scope: 'knowledge:read', route: getSourceText }),
  tool({ name: 'knowledge.settings', scope: 'knowledge:read', route: getKnowledgeSettings }),
  tool({ name: 'knowledge.runs', scope: 'knowledge:read', route: listKnowledgeRuns }),
  tool({ name: 'knowledge.packs', scope: 'knowledge:read', route: listPacks }),
  tool({ name: 'packs.query', scope: 'knowledge:read', route: queryPack, reads: true }),
  tool({ name: 'knowledge.update_settings', scope: 'settings:write', route: putKnowledgeSettings }),
  tool({
    name: 'knowledge.add_document',
    scope: 'knowledge:write',
    route: addDocument,
    summary: `Write a text of up to ${MOST_TOOL_DOCUMENT_CHARS} characters as a source, cut into passages here; one of the same key is replaced`,
    narrowed: { text: ToolDocumentText },
  }),
  tool({
    name: 'knowledge.set_crawl',
    scope: 'knowledge:write',
    route: putCrawl,
    summary: 'Have a page crawled, or change how',
  }),
  tool({ name: 'knowledge.crawl_now', scope: 'knowledge:write', route: runCrawl }),
  tool({ name: 'knowledge.sync_pack', scope: 'knowledge:write', route: syncPack }),
  tool({
    name: 'knowledge.delete_source',
    scope: 'knowledge:write',
    route: deleteSource,
    confirm: { shows: getOrgSource },
  }),
  tool({ name: 'knowledge.reindex', scope: 'knowledge:write', route: startReindex, confirm: {} }),

  tool({
    name: 'events.list',
    scope: 'calendar:read',
    integration: 'notes',
    route: listEvents,
  }),
  tool({
    name: 'calendar.sync',
    scope: 'calendar:manage',
    integration: 'calendar',
    route: syncCalendar,
    without: ['wait', 'force'],
  }),

  tool({ name: 'points.leaderboard', scope: 'points:read', route: getLeaderboard }),
  tool({ name: 'points.history', scope: 'points:read', route: getUserPoints }),
  tool({ name: 'points.award', scope: 'points:write', route: assignPoints, confirm: {} }),
  tool({
    name: 'points.import_csv',
    scope: 'points:write',
    route: importPoints,
    confirm: { dry_run: true },
    without: ['dry_run'],
  }),

  tool({ name: 'alerts.list', scope: 'alerts:manage', route: listFeeds }),
  tool({ name: 'alerts.presets', scope: 'alerts:manage', route: listPresets }),
  tool({ name: 'alerts.history', scope: 'alerts:manage', route: getFeedHistory }),
  tool({
    name: 'alerts.save',
    scope: 'alerts:manage',
    route: putFeed,
    summary: 'Make an alert feed, or change what is named of it',
  }),
  tool({ name: 'alerts.run', scope: 'alerts:manage', route: runFeedNow }),
  tool({
    name: 'alerts.delete',
    scope: 'alerts:manage',
    route: deleteFeed,
    confirm: { shows: getFeed },
  }),

  tool({ name: 'apps.list', scope: 'apps:read', route: listApps }),
  tool({ name: 'apps.get', scope: 'apps:read', route: getApp }),
  tool({
    name: 'apps.register',
    scope: 'apps:manage',
    integration: 'code_host',
    optional: true,
    route: putApp,
  }),
  tool({
    name: 'apps.delete',
    scope: 'apps:manage',
    route: deleteApp,
    confirm: { shows: getOrgApp },
  }),
  tool({
    name: 'apps.rollback',
    scope: 'apps:manage',
    integration: 'podhost',
    route: rollBackApp,
    confirm: { dry_run: true },
    without: ['dry_run'],
  }),
  tool({
    name: 'apps.deploy',
    scope: 'apps:deploy',
    integration: 'podhost',
    route: deployApp,
    confirm: { dry_run: true },
    without: ['dry_run'],
  }),

  tool({
    name: 'compute.pods',
    ...podTool,
    route: listPods,
    summary: 'Pods made here with live status, the newest first; degraded where it is unknown',
  }),
  tool({ name: 'compute.create_pod', ...podTool, route: createPod, confirm: {} }),
  tool({
    name: 'compute.pod_action',
    ...podTool,
    route: actOnPod,
    confirm: { shows: getPod },
  }),
  tool({ name: 'compute.sessions', ...podTool, route: listPodSessions }),
  tool({ name: 'compute.add_session', ...podTool, route: planPodSession }),
  tool({
    name: 'compute.delete_session',
    ...podTool,
    route: removePodSession,
    confirm: { shows: getPodSession },
  }),
  tool({ name: 'compute.list_files', ...podTool, route: listFiles }),
  tool({
    name: 'compute.read_file',
    ...podTool,
    route: readFile,
    reads: true,
    summary: `The text of a file; ${AS_JSON}`,
  }),
  tool({
    name: 'compute.write_file',
    ...podTool,
    route: writeFile,
    summary: `Replace a file with text; ${AS_JSON}`,
    confirm: {
      shows: readFile,
      despite: ['file.not_found', 'file.not_text', 'file.too_large', 'tool.answer_too_large'],
    },
  }),
]

/** The calls by which mcp uses them. */
export const toolCalls = tools.map(callOf)

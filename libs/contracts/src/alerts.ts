import { z } from 'zod'
import { officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgParams } from './fields.ts'
import { job } from './job.ts'
import { route } from './route.ts'

/** Feeds that post what is new in a list to a chat webhook (interface.md, Alert feed; decisions.md § 7). */

/** Rows of the run log that a feed keeps, and items that its history shows (interface.md, Limits). */
export const HISTORY_ROWS = 50
/** Most feeds of one org: they are shown in one answer. */
export const MOST_FEEDS = 50
const MOST_DAYS = 365

export const FeedKey = z
  .string()
  .regex(/^[a-z0-9-]{1,40}$/, 'a feed key is 1 to 40 of a-z, 0-9 and -')

/** No segment that is empty, `.` or `..`: it becomes a part of a URL. */
const safePath = (text: string) =>
  text.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
const PathInRepo = z
  .string()
  .regex(/^[^\p{Cc}\\]{1,300}$/u, 'is up to 300 characters, without control characters and \\')
  .refine(safePath, 'has no empty parts, "." and ".."')

const Days = z.int().min(0).max(MOST_DAYS)

export const JobsConfig = z
  .strictObject({
    repo: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,39}\/[A-Za-z0-9._-]{1,100}$/, 'is a repository as owner/name')
      .refine(safePath, 'is a repository as owner/name'),
    branch: PathInRepo.default('main'),
    path: PathInRepo.default('README.md').describe('Markdown file that holds the job table'),
    label: z.string().trim().min(1).max(40).default('Job').describe('Word in the post title'),
    skip_closed: z.boolean().default(true).describe('Leave out roles marked closed'),
    max_age_days: Days.default(2).describe('Leave out rows with an older date; 0: however old'),
  })
  .meta({ id: 'JobsFeedConfig' })
export type JobsConfig = z.output<typeof JobsConfig>

export const hackathonSources = ['hackclub', 'euro_hackathons', 'hackalist'] as const
export type HackathonSource = (typeof hackathonSources)[number]
export const HackathonsConfig = z
  .strictObject({
    sources: z
      .array(z.enum(hackathonSources))
      .min(1, 'Name at least one source')
      .refine((all) => new Set(all).size === all.length, 'names a source twice')
      .default([...hackathonSources]),
    min_days_ahead: Days.default(0).describe('Leave out events that start sooner'),
    max_days_ahead: Days.default(90).describe('Leave out events that start later'),
  })
  .refine(({ min_days_ahead, max_days_ahead }) => min_days_ahead <= max_days_ahead, {
    path: ['max_days_ahead'],
    message: 'must not be below min_days_ahead',
  })
  .meta({ id: 'HackathonsFeedConfig' })
export type HackathonsConfig = z.output<typeof HackathonsConfig>

export const FeedKind = z.enum(['github_jobs', 'hackathons'])
export type FeedKind = z.output<typeof FeedKind>
/** What the config of a feed is, by its kind. */
export const feedConfigs = { github_jobs: JobsConfig, hackathons: HackathonsConfig } as const
export const EveryHours = z.int().min(1).max(168)

export const Feed = z
  .object({
    key: z.string(),
    kind: FeedKind,
    config: z.union([JobsConfig, HackathonsConfig]),
    every_hours: EveryHours,
    enabled: z.boolean(),
    webhook_set: z.boolean(),
    seeded_at: Instant.nullable().describe('When the first run recorded what was there'),
    last_run_at: Instant.nullable(),
    last_error: z.string().nullable(),
    posted: z.int(),
    waiting: z.int().describe('Items that go out in the next runs'),
    uncertain: z.int().describe('Items of which nobody knows whether they were posted'),
  })
  .meta({ id: 'AlertFeed' })
export type Feed = z.output<typeof Feed>

export const NewFeed = z.object({
  kind: FeedKind.optional().describe('Needed for a new feed; fixed afterwards'),
  webhook_url: z
    .string()
    .max(2000)
    .optional()
    .describe('Needed for a new feed: an https URL of the chat platform; never shown again'),
  every_hours: EveryHours.optional().describe('3 where nothing is said'),
  enabled: z.boolean().optional().describe('true where nothing is said'),
  config: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('By kind; fields that are not named stay as they are'),
})
export type NewFeed = z.output<typeof NewFeed>

export const ItemState = z.enum(['recorded', 'new', 'claimed', 'posting', 'posted', 'uncertain'])
export type ItemState = z.output<typeof ItemState>
export const FeedItem = z
  .object({
    id: z.uuid(),
    title: z.string(),
    url: z.string().nullable(),
    state: ItemState.describe(
      'recorded: it was there before, or against the rules of the feed; uncertain: it may or may not have been posted',
    ),
    error: z.string().nullable().describe('Why the last post of it did not work'),
    created_at: Instant,
  })
  .meta({ id: 'AlertItem' })
export type FeedItem = z.output<typeof FeedItem>

const FeedRun = z
  .object({
    started_at: Instant,
    duration_ms: z.int(),
    found: z.int(),
    new: z.int(),
    posted: z.int(),
    error: z.string().nullable(),
  })
  .meta({ id: 'AlertRun' })

const common = {
  owner: 'alerts',
  caller: officerOrTool('alerts:manage'),
  module: 'alerts',
} as const
const FeedParams = OrgParams.extend({ key: FeedKey })
const OneFeed = z.object({ feed: Feed })

export const listFeeds = route({
  ...common,
  method: 'GET',
  url: '/api/alerts/:org/feeds',
  summary: 'Alert feeds with schedule, last run, last error and how much they posted',
  params: OrgParams,
  reply: { 200: z.object({ feeds: z.array(Feed) }) },
})

export const getFeed = route({
  ...common,
  method: 'GET',
  url: '/api/alerts/:org/feeds/:key',
  summary: 'One alert feed',
  params: FeedParams,
  reply: { 200: OneFeed },
})

export const putFeed = route({
  ...common,
  method: 'PUT',
  url: '/api/alerts/:org/feeds/:key',
  summary: 'Make an alert feed, or change what is named of it; 201 if it is new',
  params: FeedParams,
  body: NewFeed,
  reply: { 200: OneFeed, 201: OneFeed },
})

export const deleteFeed = route({
  ...common,
  method: 'DELETE',
  url: '/api/alerts/:org/feeds/:key',
  summary: 'Delete an alert feed with its items, its run log and its webhook',
  params: FeedParams,
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const getFeedHistory = route({
  ...common,
  method: 'GET',
  url: '/api/alerts/:org/feeds/:key/history',
  summary: 'The last 50 runs of a feed, and its last 50 items; those of unknown outcome first',
  params: FeedParams,
  reply: { 200: z.object({ runs: z.array(FeedRun), items: z.array(FeedItem) }) },
})

export const runFeedNow = route({
  ...common,
  method: 'POST',
  url: '/api/alerts/:org/feeds/:key/run',
  summary: 'Run a feed now, also one that is not enabled',
  params: FeedParams,
  body: z
    .object({
      post_existing: z
        .boolean()
        .default(false)
        .describe('In a first run: post what is there instead of recording it'),
    })
    .prefault({}),
  reply: { 202: z.object({ queued: z.literal(true) }) },
})

export const retryItem = route({
  ...common,
  method: 'POST',
  url: '/api/alerts/:org/feeds/:key/items/:id/retry',
  summary: 'Post an item of unknown outcome again in the next run; it may then stand there twice',
  params: FeedParams.extend({ id: z.uuid() }),
  reply: { 200: z.object({ item: FeedItem }) },
})

const Preset = z
  .object({
    pack: z.string(),
    key: z.string(),
    title: z.string(),
    description: z.string(),
    kind: FeedKind,
    config: z.record(z.string(), z.unknown()),
    every_hours: z.int(),
    added: z.boolean().describe('The org has a feed with this key'),
  })
  .meta({ id: 'AlertPreset' })

export const listPresets = route({
  ...common,
  method: 'GET',
  url: '/api/alerts/:org/presets',
  summary: 'Feeds that packs offer, with what to send to make one',
  params: OrgParams,
  reply: { 200: z.object({ presets: z.array(Preset) }) },
})

export const runDueFeeds = job({
  name: 'alerts.run_due',
  summary: 'Start the feeds that are due, and see to posts that ended with their process',
  args: z.object({}),
  cron: '*/15 * * * *',
  attempts: 3,
  concurrency: 1,
  audited: false,
})

export const runFeed = job({
  name: 'alerts.run_feed',
  summary: 'Run one feed: read its list and post what is new',
  args: z.object({
    org_id: z.int(),
    key: z.string(),
    post_existing: z.boolean().default(false),
    if_due: z.boolean().default(false).describe('Only if it is enabled and due'),
  }),
  attempts: 10,
  concurrency: 4,
  audited: true,
})

const FeedNamed = z.object({ key: z.string() })
export const feedCreated = audited(
  'alerts.feed.created',
  FeedNamed.extend({ kind: FeedKind, enabled: z.boolean() }),
)
export const feedChanged = audited(
  'alerts.feed.changed',
  FeedNamed.extend({ fields: z.array(z.string()).describe('Which were named') }),
)
export const feedDeleted = audited('alerts.feed.deleted', FeedNamed)
export const feedRunQueued = audited(
  'alerts.run.queued',
  FeedNamed.extend({ post_existing: z.boolean() }),
)
export const itemRequeued = audited(
  'alerts.item.queued',
  FeedNamed.extend({ item_id: z.uuid(), title: z.string() }),
)

import { z } from 'zod'
import { CalendarEvent } from './calendar.ts'
import { call } from './call.ts'
import { officer } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgIdParams } from './fields.ts'
import { job } from './job.ts'
import { route } from './route.ts'

/** The one scheduled post of the chat bot: the events of a day, in a channel of the org (decisions.md § 8). */

const TimeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'is a time of day such as 08:30, from 00:00 to 23:59')

/** The id of a channel, alone or as the end of the link to it. */
const ChannelId = z
  .string()
  .trim()
  .max(200)
  .regex(
    /^(https:\/\/\S+\/)?\d{5,25}$/,
    'is no channel: copy the id of the channel, or the link to it, from the chat platform',
  )
  .transform((text) => text.slice(text.lastIndexOf('/') + 1))

const TimeZone = z.string().max(100).refine(isTimeZone, 'is no time zone such as America/New_York')

function isTimeZone(timeZone: string) {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone }))
  } catch {
    return false
  }
}

export const PostState = z.enum(['claimed', 'posting', 'posted', 'empty', 'refused', 'uncertain'])
export type PostState = z.output<typeof PostState>

export const EventPost = z
  .object({
    events_post_at: z.string().nullable().describe('HH:MM; null where nothing is posted'),
    channel_id: z.string().nullable(),
    time_zone: z.string().describe("The org's own, else the deployment's"),
    last: z
      .object({
        day: z.iso.date(),
        state: PostState.describe(
          'empty: no events that day, so no post; refused: not posted, and tried again for some hours; uncertain: nobody knows, and it is not repeated',
        ),
        events: z.int(),
        error: z.string().nullable(),
        at: Instant,
      })
      .nullable()
      .describe('What became of the latest day'),
  })
  .meta({ id: 'EventPost' })
export type EventPost = z.output<typeof EventPost>

const post = {
  owner: 'calendar',
  caller: officer,
  module: 'calendar',
  params: OrgIdParams,
} as const

export const getEventPost = route({
  method: 'GET',
  url: '/api/organizations/:org_id/calendar/post',
  summary: "When and where the bot posts the day's events, and what became of the last post",
  ...post,
  reply: { 200: EventPost },
})

export const putEventPost = route({
  method: 'PUT',
  url: '/api/organizations/:org_id/calendar/post',
  summary: "Have the bot post each day's events; with events_post_at null it does not",
  ...post,
  body: z
    .object({
      events_post_at: TimeOfDay.nullable(),
      channel_id: ChannelId.nullable().describe("A channel of the org's chat server"),
      time_zone: TimeZone.nullable()
        .optional()
        .describe("null is the deployment's; stays as it is where it is left out"),
    })
    .refine(
      ({ events_post_at, channel_id }) => events_post_at === null || channel_id !== null,
      'Send channel_id with events_post_at: the post needs a channel',
    ),
  reply: { 200: EventPost, 201: EventPost },
})

/** Each of a day's post, at most; what is beyond is counted. */
export const MOST_POSTED_EVENTS = 25
/** Longer than the chat platform takes; the outcome of one that is late is unknown. */
const POST_MS = 25_000

/** The org's chat server is asked of auth by the bot: no other org's channel is posted to. */
const Channel = z.object({ org_id: z.int(), channel_id: z.string() })

export const checkChannel = call({
  service: 'bot',
  name: 'check_channel',
  summary: 'Why the bot cannot post to a channel for an org; null where it can',
  callers: ['calendar'],
  args: Channel,
  reply: z.object({ reason: z.string().nullable() }),
  deadlineMs: 8_000,
})

export const postEvents = call({
  service: 'bot',
  name: 'post_events',
  summary: "Post a day's events, once: it is not harmless twice, whoever asks has claimed the day",
  callers: ['calendar'],
  args: Channel.extend({
    day: z.iso.date(),
    time_zone: z.string(),
    events: z.array(CalendarEvent).min(1).max(MOST_POSTED_EVENTS),
    total: z.int(),
    /** The chat platform drops a second message with the same one for some minutes. */
    nonce: z.string().max(25),
  }),
  reply: z.discriminatedUnion('is', [
    z.object({ is: z.literal('posted'), message_id: z.string() }),
    z.object({ is: z.literal('refused'), why: z.string() }),
    z.object({ is: z.literal('unknown'), why: z.string() }),
  ]),
  deadlineMs: POST_MS,
})

export const postDueEvents = job({
  name: 'calendar.post_events',
  summary: "Have the bot post the day's events of the orgs whose time has come",
  args: z.object({}),
  cron: '*/5 * * * *',
  attempts: 3,
  concurrency: 1,
  audited: false,
})

export const eventPostChanged = audited(
  'calendar.post.changed',
  z.object({
    events_post_at: z.string().nullable(),
    channel_id: z.string().nullable(),
    time_zone: z.string().nullable(),
  }),
)
/** Its source is `bot`. */
export const eventsPosted = audited(
  'calendar.events.posted',
  z.object({ day: z.string(), channel_id: z.string(), message_id: z.string(), events: z.int() }),
)

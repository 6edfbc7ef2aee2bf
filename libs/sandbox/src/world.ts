import type { CalendarWorld } from './calendar/world.ts'
import type { NotesWorld } from './notes/world.ts'

/** What the emulated outside services know. A test changes it at any time; the next request sees it. */
export interface World {
  application: Application
  users: WorldUser[]
  guilds: Guild[]
  identity: IdentityWorld
  faults: Faults
  notes: NotesWorld
  calendar: CalendarWorld
  /** What the chat platform takes of each route, guild and credential; 50 requests a second where nothing is said. */
  chatLimit?: { requests: number; seconds: number } | undefined
  /** The keys that the pod host, the code host and the notes service accept. */
  keys: { podhost: string; codeHost: string; notes: string }
  /** Repositories of the code host; a private one is seen with its key alone. */
  repos: Repo[]
  /** What the error tracker was sent: the type of an item, and what it says. */
  tracked?: { type: string; payload: unknown }[]
  /** Webhooks of the chat platform's channels. */
  webhooks?: ChatWebhook[]
  /** What the sources of hackathons answer, by path: `hackclub`, `euro`, `hackalist/2026/02.json`; 404 where nothing is said. */
  hackathons?: Record<string, unknown>
  /** Keys of more accounts at the pod host; each sees its own pods alone. */
  otherPodhostKeys?: string[] | undefined
  /** Requests to the pod host that its fault `slow` has held up so far. */
  podhostHeld?: number
  /** The key that the embeddings service asks for; any or none will do where nothing is said. */
  embeddingsKey?: string | undefined
}

export interface ChatWebhook {
  id: string
  token: string
  /** What was posted, oldest first. */
  messages: {
    at: number
    embeds?:
      | {
          title?: string | undefined
          url?: string | undefined
          fields?: { name: string; value: string }[] | undefined
          footer?: { text: string } | undefined
        }[]
      | undefined
    allowed_mentions?: { parse: string[] } | undefined
  }[]
  /** Requests so far. */
  asked: number
  /**
   * `hangs` never answers, `drops` ends the connection; `fails_after` and `hangs_after` keep the message and
   * answer 500, or nothing.
   */
  fault?: 'rate_limited' | 'hangs' | 'drops' | 'fails_after' | 'hangs_after' | undefined
  /** So many requests are answered 429. */
  limitedFor?: number
  retryAfterSeconds?: number
}

export interface Repo {
  /** owner/name */
  name: string
  private: boolean
  default_branch: string
  /** The commit of each branch and tag. */
  refs: Record<string, string>
  /** Texts by commit and path. */
  files: Record<string, Record<string, string>>
  /** Runs of its workflows, as the API describes them, and how often they were asked for. */
  runs?: object[]
  runsAsked?: number
}

/** The one application that is registered with the chat platform, and its bot. */
export interface Application {
  clientId: string
  clientSecret: string
  /** Which of the users is its bot; the bot sees the guilds that it is a member of. */
  botId: string
  botToken: string
  /** The names of the commands that the bot has registered. */
  commands?: string[]
}

export interface Faults {
  /**
   * For the API, not for the page: `down` answers 503, `slow` answers after SLOW_MS, `rate_limited` answers
   * 429. The official client repeats a 429 until it passes: clear the fault, or let the client refuse.
   */
  chat?: 'down' | 'slow' | 'rate_limited' | undefined
  /** What a 429 of the chat platform tells to wait; 1 where nothing is said. */
  chatRetryAfterSeconds?: number | undefined
  /** `off` where the application lacks the privilege to list members (Server Members Intent). */
  chatMembersIntent?: 'off' | undefined
  embeddings?: 'down' | undefined
  /**
   * `hangs` never answers. `fails_half_way` answers the first part of a list and not the next; `incomplete` ends the
   * list there and says so. `lists_trash` lists deleted pages too.
   */
  notes?: 'down' | 'hangs' | 'fails_half_way' | 'incomplete' | 'lists_trash' | undefined
  /** `fails_after_create` makes a calendar and answers 500 all the same. */
  calendar?: 'down' | 'fails_after_create' | undefined
  /** So many changes more are carried out by the calendar service; then each is refused. */
  calendarWritesLeft?: number | undefined
  identity?: 'down' | 'hangs' | undefined
  /**
   * `no_capacity` refuses what needs a machine, as the host does: 400 with a text. `fails_after` does what
   * changes something and answers 500 all the same (`fails_after_create`: only where it makes a pod).
   * `wrong_body` does what it is asked and answers another shape. `list_misses` lists no pod.
   */
  podhost?:
    | 'down'
    | 'slow'
    | 'rate_limited'
    | 'no_capacity'
    | 'fails_after_create'
    | 'fails_after'
    | 'wrong_body'
    | 'list_misses'
    | undefined
  /** What pods answer over HTTP; 200 where nothing is said. */
  appStatus?: number | undefined
  /** What a 429 of the pod host tells to wait; 1 where nothing is said. */
  podhostRetryAfterSeconds?: number | undefined
  /** How late a slow answer is; 15 s where nothing is said. */
  podhostSlowMs?: number | undefined
}

/** The identity provider of the members' site, its one application and its people. */
export interface IdentityWorld {
  /** Requests to its API so far. */
  asked: number
  issuer: string
  secretKey: string
  /** The origin of the site on which people sign in: `azp` of their tokens. */
  authorizedParty: string
  users: IdentityUser[]
}

export interface IdentityUser {
  id: string
  email: string
  verified: boolean
}

export interface WorldUser {
  id: string
  username: string
  /** Shown instead of the username where there is room for it. */
  name: string
  /** What the authorize page says of the person. */
  about: string
  /** Hash of the picture, where they set one. */
  avatar?: string
  bot?: true
}

export interface Guild {
  id: string
  name: string
  ownerId: string
  /** The role that everybody has carries the guild's own id. */
  roles: Role[]
  members: Member[]
  /** Its text channels. */
  channels?: Channel[]
}

/** A text channel; everybody may post to it. */
export interface Channel {
  id: string
  name: string
  /** The bot may neither see it nor post to it. */
  closed?: boolean
  /**
   * `hangs` never answers; `hangs_after` keeps the message and never answers; `fails_once_after` keeps it and answers
   * 503, once.
   */
  fault?: 'hangs' | 'hangs_after' | 'fails_once_after' | undefined
  /** What the bot posted, oldest first. */
  messages: ChannelMessage[]
}

export interface ChannelMessage {
  id: string
  channel_id: string
  at: number
  content: string
  allowed_mentions: { parse: string[] } | undefined
  flags: number
  nonce: string | number | undefined
}

export interface Member {
  userId: string
  nick?: string
  /** Hash of the picture that they show on this guild alone. */
  avatar?: string
  roleIds: string[]
}

export interface Role {
  id: string
  name: string
  position: number
  /** RGB as one number; 0 where the platform shows none. */
  color?: number
  /** The bot that the platform made this role for; nobody can give or take such a role. */
  botId?: string
  /** Everybody who boosts the guild has this role; the platform manages it, no bot. */
  booster?: true
}

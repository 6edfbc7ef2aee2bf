import { z } from 'zod'
import { listEvents } from './calendar.ts'
import { call } from './call.ts'
import { listMyPods } from './connect.ts'
import { ChatUserId } from './fields.ts'
import { search } from './knowledge.ts'
import type { ModuleName } from './names.ts'
import { ChatServerId, OrgForServices } from './orgs.ts'
import { getLeaderboard } from './points.ts'
import type { Route } from './route.ts'
import { getMyPoints } from './store-members.ts'

/** What members ask the chat bot (decisions.md § 8). */

/** One command, as plain data: a route, asked by the bot for the member who typed it. */
export interface BotCommand {
  /** What is typed after the slash. */
  name: string
  /** Shown beside it. */
  summary: string
  /** What answers. Its org is that of the chat server. */
  route: Route
  /** Where the org has this module off, the command says so. */
  module: ModuleName
  /** Everybody in the channel sees the answer; else the member who asked alone. */
  shared?: true
}

const command = <const C extends BotCommand>(contract: C): C => contract

/** Every command there is. */
export const botCommands = {
  events: command({
    name: 'events',
    summary: 'What comes up in this club',
    route: listEvents,
    module: 'calendar',
    shared: true,
  }),
  leaderboard: command({
    name: 'leaderboard',
    summary: 'Who has the most points',
    route: getLeaderboard,
    module: 'points',
    shared: true,
  }),
  points: command({
    name: 'points',
    summary: 'Your own points; you alone see them',
    route: getMyPoints,
    module: 'points',
  }),
  pods: command({
    name: 'pods',
    summary: 'The pods that you may use now; you alone see them',
    route: listMyPods,
    module: 'compute',
  }),
  ask: command({
    name: 'ask',
    summary: "Search the club's knowledge; you alone see what it finds",
    route: search,
    module: 'knowledge',
  }),
} as const
export type CommandName = keyof typeof botCommands

const CommandArgs = z.object({
  org: OrgForServices,
  chat_user_id: ChatUserId,
  username: z.string(),
  /** The fields of the route: those of its query and body side by side. */
  input: z.record(z.string(), z.unknown()),
})
export type CommandArgs = z.output<typeof CommandArgs>

/** Longer than a search with an embedder, and the pod host, take; the chat platform waits 15 minutes. */
const COMMAND_MS = 20_000

/** The call by which the bot asks for a command. NATS lets nobody else ask. */
export const askedBy = ({ name, summary, route }: BotCommand) =>
  call({
    service: route.owner,
    name: `bot_${name}`,
    summary,
    callers: ['bot'],
    args: CommandArgs,
    reply: z.object({
      answer: z.unknown(),
      degraded: z.string().optional().describe('The service without which it was answered'),
    }),
    deadlineMs: COMMAND_MS,
  })

export const findOrgOfServer = call({
  service: 'auth',
  name: 'find_org_of_server',
  summary: 'The active org of a chat server',
  callers: ['bot'],
  args: z.object({ chat_server_id: ChatServerId }),
  reply: z.object({ org: OrgForServices.nullable() }),
})

/** The calls of the bot alone. */
export const botCalls = [findOrgOfServer, ...Object.values(botCommands).map(askedBy)]

import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import {
  askedBy,
  type BotCommand,
  type CommandArgs,
  findOrgOfServer,
} from '@guildhall/contracts/bot'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'

/** The org of a chat server. Throws `command.no_org` where it has none, and outside of servers. */
export async function orgOf(bus: Bus, guildId: string | null) {
  if (guildId === null) throw noOrg()
  const { org } = await ask(bus, findOrgOfServer, { chat_server_id: guildId })
  if (!org) throw noOrg()
  return org
}

/** A command whose route answers 200. */
export type Answering = BotCommand & { route: { reply: { 200: z.ZodType } } }

export interface Found<C extends Answering> {
  answer: z.output<C['route']['reply'][200]>
  degraded?: string | undefined
}

/** What the route of a command answers to this member. Throws what it refuses. */
export async function find<C extends Answering>(
  bus: Bus,
  command: C,
  args: CommandArgs,
): Promise<Found<C>> {
  if (!args.org.modules.includes(command.module)) throw off(command)
  const { answer, degraded } = await ask(bus, askedBy(command), args)
  const read = command.route.reply[200].parse(answer) as Found<C>['answer']
  return { answer: read, degraded }
}

const off = ({ name }: BotCommand) =>
  new AppError('not_found', 'command.off', `This club has /${name} switched off; ask its officers`)

const noOrg = () =>
  new AppError(
    'not_found',
    'command.no_org',
    'This server is not set up with Guildhall; ask whoever runs it to add the server',
  )

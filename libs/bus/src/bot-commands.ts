import { askedBy, type BotCommand, botCommands, type CommandArgs } from '@guildhall/contracts/bot'
import type { Caller } from '@guildhall/contracts/caller'
import { findMembership } from '@guildhall/contracts/members'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { answer, ask } from './calls.ts'
import type { Bus } from './connect.ts'
import { askFrontDoor, type Frame } from './front-door.ts'

/**
 * Answers what the bot asks of a service for the members of a chat server. Each is a request to its own front door;
 * whatever the bot says, the module and the membership are looked at again here.
 */
export function answerBotCommands(frame: Frame, app: App) {
  const commands: BotCommand[] = Object.values(botCommands)
  for (const command of commands.filter(({ route }) => route.owner === frame.service)) {
    answer(frame.bus, askedBy(command), async (args, { request_id = newId() }) => {
      const { org, input } = args
      if (!org.modules.includes(command.module)) throw moduleOff(command)
      const caller = callerOf(command, args)
      if (caller.kind !== 'public') await checkMember(frame.bus, args)
      const door = { ...frame, app, request_id }
      const { bytes: _, ...said } = await askFrontDoor(door, command.route, { caller, org, input })
      return said
    })
  }
}

/** Whom the route takes: everybody, else the member, else who may read the knowledge. */
function callerOf({ route, name }: BotCommand, { chat_user_id, username }: CommandArgs): Caller {
  const { accepts, scope } = route.caller
  if (accepts.includes('public')) return { kind: 'public' }
  if (accepts.includes('member'))
    return { kind: 'member', chat_user_id, username, session_id: 'bot' }
  const scopes = scope === undefined ? [] : [scope]
  return { kind: 'machine', token_id: 'bot', token_kind: 'agent', name: `/${name}`, scopes }
}

async function checkMember(bus: Bus, { org, chat_user_id }: CommandArgs) {
  const { member } = await ask(bus, findMembership, { org_id: org.id, chat_user_id })
  if (!member) throw notMember()
}

const moduleOff = ({ name }: BotCommand) =>
  new AppError('not_found', 'command.off', `This club has /${name} switched off; ask its officers`)

const notMember = () =>
  new AppError(
    'forbidden',
    'command.no_member',
    'You are not known as a member of this server yet; try again in a minute',
  )

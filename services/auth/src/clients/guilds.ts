import { AppError } from '@guildhall/service/errors'
import { Routes } from 'discord-api-types/v10'
import { z } from 'zod'
import { type Chat, chatFailure, codeOf, OUT_OF_REACH } from './chat.ts'
import { Guild, Role } from './shapes.ts'

/** Servers of one page (the platform's own limit). */
const PAGE = 200

type Reader = Pick<Chat, 'read'>

/** Up to `limit` servers that the bot is on, by id, after `before`. Throws `chat.unavailable`. */
export async function guildsOfBot(
  { read }: Reader,
  { before = '0', limit }: { before: string | undefined; limit: number },
) {
  const guilds: Guild[] = []
  while (guilds.length < limit) {
    const size = Math.min(PAGE, limit - guilds.length)
    const after = guilds.at(-1)?.id ?? before
    const query = { limit: String(size), after }
    const page = await read(z.array(Guild), Routes.userGuilds(), query).catch(fail)
    guilds.push(...page)
    if (page.length < size) break
  }
  return guilds.map(({ id, name }) => ({ id, name }))
}

/** The roles of a server, or nothing where the bot is not on it. Throws `chat.unavailable`. */
export async function rolesOfGuild({ read }: Reader, guildId: string): Promise<Role[] | undefined> {
  try {
    return await read(z.array(Role), Routes.guildRoles(guildId))
  } catch (error) {
    if (OUT_OF_REACH.includes(codeOf(error))) return undefined
    throw chatFailure(error)
  }
}

/** Why a role cannot make officers; nothing where it can. */
export function unfitRole({ id, managed }: Pick<Role, 'id' | 'managed'>, guildId: string) {
  if (id === guildId) return 'The everyone role cannot be the officer role'
  if (managed)
    return 'A role that a bot or the platform manages cannot be the officer role: nobody can be given it'
  return undefined
}

/** Throws unless the role is one of the server and may make officers. */
export async function checkOfficerRole(chat: Reader, guildId: string, roleId: string) {
  if (roleId === guildId)
    throw refusedRole(String(unfitRole({ id: roleId, managed: false }, guildId)))
  const roles = await rolesOfGuild(chat, guildId)
  if (!roles) throw notOnServer()
  const role = roles.find(({ id }) => id === roleId)
  if (!role) throw refusedRole('The chat server has no such role; take one of its list of roles')
  const unfit = unfitRole(role, guildId)
  if (unfit) throw refusedRole(unfit)
}

/** Throws unless the bot is on the server. */
export async function checkOnServer(chat: Reader, guildId: string) {
  if (!(await rolesOfGuild(chat, guildId))) throw notOnServer()
}

const notOnServer = () =>
  new AppError(
    'invalid',
    'org.chat_server',
    'The bot is not on this chat server, or it does not exist; invite the bot first',
  )
const refusedRole = (message: string) => new AppError('invalid', 'org.officer_role', message)

function fail(error: unknown): never {
  throw chatFailure(error)
}

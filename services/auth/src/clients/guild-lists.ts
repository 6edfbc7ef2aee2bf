import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { Routes } from 'discord-api-types/v10'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { type Chat, chatFailure, codeOf, OUT_OF_REACH } from './chat.ts'
import { byName, type ChatMember, chatMember } from './chat-member.ts'
import { GuildMember, Role } from './shapes.ts'

/** How long what was read counts. */
const KEPT_MS = 60_000
/** Members of one page (the platform's own limit). */
const PAGE = 1_000
/** Of one server, and of all lists kept at once: some 20 MB. */
const MOST_MEMBERS = 50_000
const MOST_LISTS = 1_000

const Members = z.array(GuildMember)
const Roles = z.array(Role)

type Asked = { serverId: string; start: string }
export type GuildLists = ReturnType<typeof createGuildLists>

/** Lists of a chat server, kept for 60 s; many who ask at once share one read, failures are not kept. */
export function createGuildLists({ read }: Pick<Chat, 'read'>) {
  const lists = new LRUCache<string, ChatMember[], Asked>({
    max: MOST_LISTS,
    maxSize: MOST_MEMBERS,
    sizeCalculation: ({ length }) => length + 1,
    ttl: KEPT_MS,
    fetchMethod: async (_key, _stale, { context: { serverId, start } }) =>
      (await (start ? search(serverId, start) : readAll(serverId))).sort(byName),
  })
  const roles = new LRUCache<string, Role[]>({
    max: MOST_LISTS,
    ttl: KEPT_MS,
    fetchMethod: readRoles,
  })
  /** Lists that a rate limit cut short: whoever asks again goes on there. */
  const begun = new LRUCache<string, ChatMember[]>({
    max: MOST_LISTS,
    maxSize: MOST_MEMBERS,
    sizeCalculation: ({ length }) => length + 1,
    ttl: KEPT_MS,
  })

  async function readAll(serverId: string): Promise<ChatMember[]> {
    const members = begun.get(serverId) ?? []
    await readOn(serverId, members).catch((error) => {
      const cut = error instanceof AppError && error.code === 'chat.rate_limited'
      if (cut) begun.set(serverId, members)
      else begun.delete(serverId)
      throw error
    })
    begun.delete(serverId)
    return members
  }

  /** Reads the pages after those that are there. */
  async function readOn(serverId: string, members: ChatMember[]) {
    for (;;) {
      const page = await readPage(serverId, members.at(-1)?.id)
      members.push(...page)
      if (page.length < PAGE) return
      if (members.length >= MOST_MEMBERS) throw tooMany()
    }
  }

  async function readPage(serverId: string, after = '0') {
    try {
      const query = { limit: String(PAGE), after }
      const page = await read(Members, Routes.guildMembers(serverId), query)
      return page.map((member) => chatMember(serverId, member))
    } catch (error) {
      if (!OUT_OF_REACH.includes(codeOf(error))) throw chatFailure(error)
      await kept(roles, serverId) // throws where the bot is not on the server at all
      throw noPrivilege(error)
    }
  }

  async function search(serverId: string, query: string): Promise<ChatMember[]> {
    const route = Routes.guildMembersSearch(serverId)
    const found = await read(Members, route, { query, limit: String(PAGE) }).catch(fail)
    return found.map((member) => chatMember(serverId, member))
  }

  function readRoles(serverId: string): Promise<Role[]> {
    return read(Roles, Routes.guildRoles(serverId)).catch(fail)
  }

  return {
    /** Every member by name, bots too. Throws `chat.members_intent` where the bot may not list them. */
    members: (serverId: string) => kept(lists, serverId, { context: { serverId, start: '' } }),

    /** The members by name, at most 1 000, whose username or nickname begins so; capitals do not matter. */
    membersLike(serverId: string, text: string) {
      const start = text.toLowerCase()
      return kept(lists, `${serverId} ${start}`, { context: { serverId, start } })
    },

    /** Every role of the server, in no order. */
    roles: (serverId: string) => kept(roles, serverId),
  }
}

function fail(error: unknown): never {
  throw OUT_OF_REACH.includes(codeOf(error)) ? notOnServer(error) : chatFailure(error)
}

const notOnServer = (cause: unknown) =>
  new AppError(
    'unavailable',
    'chat.not_on_server',
    "The bot is not on the org's chat server; invite it there",
    { cause },
  )
const noPrivilege = (cause: unknown) =>
  new AppError(
    'unavailable',
    'chat.members_intent',
    "The bot may not list the server's members: switch on Server Members Intent under Bot, Privileged Gateway Intents, of the application in the chat platform's developer portal. Until then search with q",
    { cause },
  )
const tooMany = () =>
  new AppError(
    'unavailable',
    'chat.too_many_members',
    `The server has more than ${MOST_MEMBERS} members, too many to list; search with q`,
  )

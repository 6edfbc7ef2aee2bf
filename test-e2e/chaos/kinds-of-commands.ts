import { people, servers } from '@guildhall/sandbox/demo'
import type { Hands } from './hands.ts'
import type { Kind } from './kind.ts'

/** Each may type 20 commands a minute. */
const TYPISTS = 4
const REST_MS = 1_000
const RIGHT = /^You have \*\*-?\d+\*\* points at Demo Club\./
/** What a member is told while something behind the bot is away; a fault of the bot has other words. */
const AWAY = /^(?!Something went wrong here).*; try again/s

/** What members type in chat, which the bot and the services answer. */
export const kindsOfCommands = (hands: Hands): Kind[] => [points(hands)]

function points({ sandbox }: Hands): Kind {
  const typists = addMembers(sandbox.world)
  return {
    name: 'commands typed in chat',
    restMs: REST_MS,
    async write(n) {
      const userId = typists[n % TYPISTS]
      const typed = { guildId: servers.demo.id, userId: String(userId), name: 'points' }
      const { answered, id } = sandbox.typeCommand(typed)
      const content = await answered.then((one) => one.content).catch(unheard)
      if (content === undefined || AWAY.test(content)) return undefined
      if (!RIGHT.test(content)) throw new Error(content)
      return id
    },
  }
}

/** The platform gives up on a command that nobody hears. */
function unheard(error: Error): undefined {
  if (!error.message.startsWith('Nothing answered')) throw error
}

function addMembers({ users, guilds }: Hands['sandbox']['world']) {
  const demo = guilds.find(({ id }) => id === servers.demo.id)
  const ids = Array.from({ length: TYPISTS }, (_, n) => `18440270000007${n}000`)
  users.push(...ids.map((id, n) => ({ ...people.member, id, username: `typist-${n}` })))
  demo?.members.push(...ids.map((userId) => ({ userId, roleIds: [] })))
  return ids
}

import type { Channel, Guild, World } from '../world.ts'
import { shownGuild, shownMember, shownSelf } from './shapes.ts'

const JOINED = '2024-09-01T12:00:00.000000+00:00'
const TEXT_CHANNEL = 0
const ALLOW_NONE = '0'
/** View Channel, Send Messages. */
const MAY_POST = '3072'

/** The event READY: the guilds follow one by one. */
export function shownReady(
  { application, users }: World,
  { session, guilds, url }: { session: string; guilds: Guild[]; url: string },
) {
  const self = users.find(({ id }) => id === application.botId)
  return {
    v: 10,
    user: self && { ...shownSelf(self), verified: true, email: null },
    guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
    session_id: session,
    resume_gateway_url: url,
    shard: [0, 1],
    application: { id: application.clientId, flags: 0 },
  }
}

/** The event GUILD_CREATE. */
export function shownBotGuild(guild: Guild, world: World) {
  const self = guild.members.find(({ userId }) => userId === world.application.botId)
  return {
    ...shownGuild(guild),
    joined_at: JOINED,
    large: false,
    unavailable: false,
    member_count: guild.members.length,
    voice_states: [],
    members: self ? [shownMember(self, world)] : [],
    channels: (guild.channels ?? []).map((channel) => shownChannel(channel, guild)),
    threads: [],
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  }
}

/** A text channel. Who may post is said by an overwrite for everybody: the sandbox has no other permissions. */
export const shownChannel = ({ id, name, closed }: Channel, guild: Guild) => ({
  id,
  type: TEXT_CHANNEL,
  guild_id: guild.id,
  position: 0,
  permission_overwrites: [
    {
      id: guild.id,
      type: 0,
      allow: closed ? ALLOW_NONE : MAY_POST,
      deny: closed ? MAY_POST : ALLOW_NONE,
    },
  ],
  name,
  topic: null,
  nsfw: false,
  last_message_id: null,
  rate_limit_per_user: 0,
  parent_id: null,
  flags: 0,
})

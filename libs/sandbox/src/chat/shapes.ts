import type { Guild, Member, Role, World, WorldUser } from '../world.ts'

const JOINED = '2024-09-01T12:00:00.000000+00:00'

/** A user as everybody sees them. */
export const shownUser = ({ id, username, name, bot, avatar }: WorldUser) => ({
  id,
  username,
  discriminator: '0',
  global_name: name,
  avatar: avatar ?? null,
  banner: null,
  accent_color: null,
  avatar_decoration_data: null,
  collectibles: null,
  primary_guild: null,
  public_flags: 0,
  flags: 0,
  ...(bot && { bot }),
})

/** A user as they see themselves. */
export const shownSelf = (user: WorldUser) => ({
  ...shownUser(user),
  mfa_enabled: false,
  locale: 'en-US',
  premium_type: 0,
})

/** A role; one that the platform made, for a bot or for boosters, is managed and tagged with what for. */
export const shownRole = ({ id, name, position, color = 0, botId, booster }: Role) => ({
  id,
  name,
  position,
  managed: botId !== undefined || booster === true,
  permissions: '0',
  color,
  colors: { primary_color: color, secondary_color: null, tertiary_color: null },
  hoist: false,
  icon: null,
  unicode_emoji: null,
  mentionable: false,
  flags: 0,
  ...(botId !== undefined && { tags: { bot_id: botId } }),
  ...(booster && { tags: { premium_subscriber: null } }),
})

/** A guild in the list of a user who is on it. */
export const shownMyGuild = ({ id, name, ownerId }: Guild, userId: string) => ({
  id,
  name,
  icon: null,
  banner: null,
  owner: ownerId === userId,
  permissions: '0',
  features: [],
})

/** A member, or nothing where the world has no such user. */
export function shownMember({ userId, nick, avatar, roleIds }: Member, { users }: World) {
  const user = users.find(({ id }) => id === userId)
  if (!user) return undefined
  return {
    user: shownUser(user),
    nick: nick ?? null,
    avatar: avatar ?? null,
    avatar_decoration_data: null,
    banner: null,
    collectibles: null,
    roles: roleIds,
    joined_at: JOINED,
    premium_since: null,
    communication_disabled_until: null,
    pending: false,
    deaf: false,
    mute: false,
    flags: 0,
  }
}

/** A whole guild; what Guildhall never reads is as in a guild just made. */
export const shownGuild = ({ id, name, ownerId, roles }: Guild) => ({
  id,
  name,
  owner_id: ownerId,
  roles: roles.map(shownRole),
  ...NEW_GUILD,
})

const NEW_GUILD = {
  icon: null,
  description: null,
  home_header: null,
  splash: null,
  discovery_splash: null,
  features: [],
  banner: null,
  application_id: null,
  region: 'deprecated',
  afk_channel_id: null,
  afk_timeout: 300,
  system_channel_id: null,
  system_channel_flags: 0,
  widget_enabled: false,
  widget_channel_id: null,
  verification_level: 1,
  default_message_notifications: 1,
  mfa_level: 0,
  explicit_content_filter: 2,
  max_presences: null,
  max_members: 500_000,
  max_stage_video_channel_users: 50,
  max_video_channel_users: 25,
  vanity_url_code: null,
  premium_tier: 0,
  premium_subscription_count: 0,
  preferred_locale: 'en-US',
  rules_channel_id: null,
  safety_alerts_channel_id: null,
  public_updates_channel_id: null,
  premium_progress_bar_enabled: false,
  nsfw: false,
  nsfw_level: 0,
  emojis: [],
  stickers: [],
  incidents_data: null,
}

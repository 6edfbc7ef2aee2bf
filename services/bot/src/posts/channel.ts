import { ask } from '@guildhall/bus/calls'
import { findOrgOfServer } from '@guildhall/contracts/bot'
import { PermissionFlagsBits, type SendableChannels } from 'discord.js'
import type { Deps } from '../deps.ts'

/** What the bot needs in a channel to post to it. */
const NEEDED = [PermissionFlagsBits.ViewChannel, PermissionFlagsBits.SendMessages]

/**
 * The channel, if it is of the org's own chat server and the bot may post to it; else why not. Throws `bot.unconnected`
 * where nobody knows.
 */
export async function channelFor(
  { bus, chat }: Pick<Deps, 'bus' | 'chat'>,
  { org_id, channel_id }: { org_id: number; channel_id: string },
): Promise<SendableChannels | string> {
  const channel = chat.client().channels.cache.get(channel_id)
  if (!channel || channel.isDMBased()) return NOT_THERE
  const { org } = await ask(bus, findOrgOfServer, { chat_server_id: channel.guildId })
  if (org?.id !== org_id) return NOT_THERE // nobody learns of another org's channel
  if (!channel.isSendable() || channel.isThread())
    return 'Nothing can be posted to this channel; take a text channel'
  const me = channel.guild.members.me
  if (!me || !channel.permissionsFor(me).has(NEEDED)) return NOT_ALLOWED
  return channel
}

const NOT_THERE =
  "There is no such channel on the org's chat server, or the bot does not see it; take another, or let the bot view it"
const NOT_ALLOWED =
  'The bot may not post to this channel: give it View Channel and Send Messages there'

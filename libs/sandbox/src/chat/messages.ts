import type { ChannelMessage, World } from '../world.ts'
import type { Message } from './commands.ts'
import { shownUser } from './shapes.ts'

const EPOCH_MS = 1_420_070_400_000
const SEQUENCE_BITS = 22n
let made = 0n

/** An id as the platform makes them: the time, and a count within it. */
export const newSnowflake = () =>
  String((BigInt(Date.now() - EPOCH_MS) << SEQUENCE_BITS) + (made++ % (1n << SEQUENCE_BITS)))

export const newMessage = (
  channel_id: string,
  { content, allowed_mentions, flags, nonce }: Message,
): ChannelMessage => ({
  id: newSnowflake(),
  channel_id,
  at: Date.now(),
  content,
  allowed_mentions: allowed_mentions ?? undefined,
  flags: flags ?? 0,
  nonce: nonce ?? undefined,
})

/** A message of the bot. */
export function shownMessage(
  { id, channel_id, at, content, flags, nonce }: ChannelMessage,
  { application, users }: World,
) {
  const self = users.find((user) => user.id === application.botId)
  return {
    id,
    channel_id,
    type: 0,
    content,
    author: self && shownUser(self),
    timestamp: new Date(at).toISOString(),
    edited_timestamp: null,
    flags,
    mentions: [],
    mention_roles: [],
    mention_everyone: false,
    attachments: [],
    embeds: [],
    components: [],
    pinned: false,
    tts: false,
    ...(nonce !== undefined && { nonce }),
  }
}

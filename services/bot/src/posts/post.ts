import type { postEvents } from '@guildhall/contracts/event-posts'
import { AppError } from '@guildhall/service/errors'
import { DiscordAPIError, MessageFlags } from 'discord.js'
import type { z } from 'zod'
import { showDay } from '../commands/show.ts'
import type { Deps } from '../deps.ts'
import { channelFor } from './channel.ts'

type Wanted = z.output<typeof postEvents.args>
type Outcome = z.output<typeof postEvents.reply>

const REQUEST_ERROR = 400
const SERVER_ERROR = 500

/**
 * Posts a day's events, and says what became of it. The client repeats a request that the platform failed to answer;
 * the nonce keeps such a repetition from being a second message.
 */
export async function post(deps: Pick<Deps, 'bus' | 'chat'>, wanted: Wanted): Promise<Outcome> {
  const { day, events, total, nonce } = wanted
  const channel = await channelFor(deps, wanted)
  if (typeof channel === 'string') return { is: 'refused', why: channel }
  try {
    const { id } = await channel.send({
      content: showDay(events, { day, total }),
      nonce,
      enforceNonce: true,
      allowedMentions: { parse: [] },
      flags: MessageFlags.SuppressEmbeds,
    })
    return { is: 'posted', message_id: id }
  } catch (error) {
    if (error instanceof AppError) throw error
    return outcomeOf(error)
  }
}

/** A refusal of the platform is certain; of anything else nobody knows whether the message stands. */
function outcomeOf(error: unknown): Outcome {
  const { status } = error as { status?: number }
  const isRefused =
    error instanceof DiscordAPIError &&
    status !== undefined &&
    status >= REQUEST_ERROR &&
    status < SERVER_ERROR
  return isRefused
    ? { is: 'refused', why: `The chat platform answered ${status}: ${error.message}` }
    : { is: 'unknown', why: 'The chat platform did not say whether it took the post' }
}

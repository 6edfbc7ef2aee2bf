import { answer } from '@guildhall/bus/calls'
import { checkChannel, postEvents } from '@guildhall/contracts/event-posts'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { channelFor } from './posts/channel.ts'
import { post } from './posts/post.ts'

/** What the bot answers over NATS. It keeps nothing of an org. */
export function answerCalls(deps: Deps) {
  answer(deps.bus, checkChannel, async (args) => {
    const channel = await channelFor(deps, args)
    return { reason: typeof channel === 'string' ? channel : null }
  })
  answer(deps.bus, postEvents, (args) => post(deps, args))
  answer(deps.bus, purgeOrgOf('bot'), async () => ({}))
}

import { ask } from '@guildhall/bus/calls'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  checkChannel,
  type EventPost,
  eventPostChanged,
  getEventPost,
  putEventPost,
} from '@guildhall/contracts/event-posts'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { PostRow, PostSettingsRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { lastPost, postSettingsOf, putPostSettings } from './queries.ts'

export function postRoutes(app: App, deps: Deps) {
  const { db, config, now } = deps
  const shown = (row: PostSettingsRow | undefined, last: PostRow | undefined): EventPost => ({
    events_post_at: row?.events_post_at ?? null,
    channel_id: row?.channel_id ?? null,
    time_zone: row?.time_zone ?? config.TIMEZONE,
    last: last ? shownPost(last) : null,
  })

  app.implement(getEventPost, async ({ org }) =>
    shown(await postSettingsOf(db, org.id), await lastPost(db, org.id)),
  )

  app.implement(putEventPost, async ({ org, caller, body }, reply) => {
    const { events_post_at, channel_id } = body
    if (events_post_at !== null && channel_id !== null) await checked(deps, org.id, channel_id)
    const { made, ...row } = await db.transaction().execute(async (trx) => {
      const put = await putPostSettings(trx, org.id, body, now())
      const { time_zone } = put
      const said = { events_post_at, channel_id, time_zone }
      await enqueue(trx, audit(eventPostChanged, caller, org, said))
      return put
    })
    return reply.code(made ? 201 : 200).send(shown(row, await lastPost(db, org.id)))
  })
}

const shownPost = ({ updated_at, ...rest }: PostRow) => ({ ...rest, at: updated_at.toISOString() })

/** Throws where the bot cannot post to the channel, or does not say so. */
async function checked({ bus }: Deps, org_id: number, channel_id: string) {
  const { reason } = await ask(bus, checkChannel, { org_id, channel_id })
  if (reason === null) return
  throw new AppError('invalid', 'event_post.channel', reason, {
    details: [{ path: '/body/channel_id', message: reason }],
  })
}

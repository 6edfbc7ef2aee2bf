import { z } from 'zod'
import { FeedKind } from './alerts.ts'
import { call } from './call.ts'

/** The feeds of packs, which alerts offers as presets. */
export const listPackFeeds = call({
  service: 'knowledge',
  name: 'list_pack_feeds',
  summary: 'The alert feeds that packs offer, in the order of the packs',
  callers: ['alerts'],
  args: z.object({}),
  reply: z.object({
    feeds: z.array(
      z.object({
        pack: z.string(),
        key: z.string(),
        title: z.string(),
        description: z.string(),
        kind: FeedKind,
        config: z.record(z.string(), z.unknown()),
        every_hours: z.int(),
      }),
    ),
  }),
})

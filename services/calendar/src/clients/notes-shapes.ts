import { z } from 'zod'

/** As much of a page of the notes (Notion API 2025-09-03) as calendar reads. */

const Text = z.array(z.object({ plain_text: z.string() }))

const Property = z.union([
  z.object({ type: z.literal('title'), title: Text }),
  z.object({ type: z.literal('rich_text'), rich_text: Text }),
  z.object({ type: z.literal('select'), select: z.object({ name: z.string() }).nullable() }),
  z.object({
    type: z.literal('date'),
    date: z
      .object({ start: z.string(), end: z.string().nullish(), time_zone: z.string().nullish() })
      .nullable(),
  }),
  z.object({ type: z.string() }).transform(({ type }) => ({ type: `other ${type}` as const })),
])
export type Property = z.output<typeof Property>

export const NotesPage = z.object({
  id: z.guid(), // of no version that RFC 9562 knows
  url: z.string(),
  last_edited_time: z.string(),
  in_trash: z.boolean().default(false),
  properties: z.record(z.string(), Property),
})
export type NotesPage = z.output<typeof NotesPage>

import { z } from 'zod'

/** Fields that many contracts share. */

export const ChatUserId = z.string().regex(/^\d{5,25}$/, 'a chat user id is 5 to 25 digits')

/** The short name of an org, as it stands in URLs. */
export const OrgPrefix = z
  .string()
  .regex(/^[a-z0-9_-]{2,20}$/, 'a prefix is 2 to 20 of a-z, 0-9, _ and -')

export const OrgParams = z.object({ org: OrgPrefix })
export const OrgId = z.coerce.number<string>().int().min(1).max(2_147_483_647)
export const OrgIdParams = z.object({ org_id: OrgId })

/** RFC 3339 in UTC, as we send it; a time zone is required of what we are sent. */
export const Instant = z.iso.datetime({ offset: true })

/** The query of every list that can grow (decisions.md § 0). */
export const Paging = z.object({
  limit: z.coerce.number<string>().int().min(1).max(500).default(100),
  cursor: z.string().max(500).optional(),
})
export const nextCursor = z.string().nullable()

/** What happened on one day. */
export const DayCount = z.object({
  date: z.iso.date().describe('A day of UTC'),
  value: z.number(),
  failed: z.number(),
})
export type DayCount = z.output<typeof DayCount>

/** With what the chat platform sends a browser back (RFC 6749 §§ 4.1.2 and 4.1.2.1). */
export const SignInReturn = z.object({
  code: z.string().max(500).optional(),
  state: z.string().max(200).optional(),
  error: z.string().max(200).optional(),
})

/** The name of an org. One line: it stands in headings, file names and mails. */
export const OrgName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^\P{Cc}*$/u, 'is one line of text, without control characters')

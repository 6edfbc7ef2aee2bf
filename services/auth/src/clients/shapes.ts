import { ChatUserId } from '@guildhall/contracts/fields'
import { z } from 'zod'

/** Of what the chat platform answers, what Guildhall uses (Discord v10). Anything else is left out. */

const Id = z.string().regex(/^\d{5,25}$/)

export const User = z.object({
  id: ChatUserId,
  username: z.string(),
  global_name: z.string().nullish(),
  avatar: z.string().nullish(),
  bot: z.boolean().default(false),
})

export const GuildMember = z.object({
  user: User,
  nick: z.string().nullish(),
  avatar: z.string().nullish(),
  roles: z.array(Id),
})
export type GuildMember = z.output<typeof GuildMember>

export const Role = z.object({
  id: Id,
  name: z.string(),
  color: z.int().min(0).max(0xffffff),
  position: z.int(),
  managed: z.boolean(),
  /** The role of boosters has the tag with the value null, any other has it not. */
  tags: z.object({ premium_subscriber: z.null().optional() }).optional(),
})
export type Role = z.output<typeof Role>

export const Guild = z.object({ id: Id, name: z.string() })
export type Guild = z.output<typeof Guild>

/** RFC 6749 § 5.1. */
export const Granted = z.object({ access_token: z.string().min(1) })

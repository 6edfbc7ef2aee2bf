import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Access } from './access/decide.ts'
import type { Chat } from './clients/chat.ts'
import type { GuildLists } from './clients/guild-lists.ts'
import type { Identities } from './clients/identity.ts'
import type { Config } from './config.ts'
import type { Db } from './db.ts'
import type { Signer } from './token-pairs/signer.ts'

/** All that auth needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  config: Config
  chat: Chat & GuildLists
  access: Access
  identities: Identities
  signer: Signer
  now: () => Date
}

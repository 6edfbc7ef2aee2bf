import type { Bus } from '@guildhall/bus/connect'
import type { Log } from '@guildhall/service/log'
import type { Chat } from './chat/chat.ts'
import type { Db } from './db.ts'

/** All that the bot needs from outside. */
export interface Deps {
  db: Db
  bus: Bus
  log: Log
  /** The chat platform, once it is connected to it. */
  chat: Pick<Chat, 'client'>
}

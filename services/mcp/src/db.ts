import type { BusTables } from '@guildhall/bus/tables'
import type { Db as AnyDb } from '@guildhall/db/open'

/** mcp keeps nothing but what it has to tell: it has no migrations of its own. */
export const migrations = new URL('../migrations', import.meta.url).pathname

export type Tables = BusTables
export type Db = AnyDb<Tables>

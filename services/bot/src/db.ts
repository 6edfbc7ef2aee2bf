import type { BusTables } from '@guildhall/bus/tables'
import type { Db as AnyDb } from '@guildhall/db/open'

/** bot keeps nothing: what it must claim stands in calendar. It has no migrations of its own. */
export const migrations = new URL('../migrations', import.meta.url).pathname

export type Tables = BusTables
export type Db = AnyDb<Tables>

import type { BusTables } from '@guildhall/bus/tables'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  pods: { id: string }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>

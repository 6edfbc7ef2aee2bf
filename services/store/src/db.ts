import type { BusTables } from '@guildhall/bus/tables'
import type { ImportResult } from '@guildhall/contracts/point-imports'
import type { OrderStatus } from '@guildhall/contracts/store-orders'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { ColumnType, Generated, GeneratedAlways, JSONColumnType, Selectable } from 'kysely'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  people: { id: string; email: string | null; chat_user_id: string | null; created_at: Date }
  memberships: {
    id: string
    org_id: number
    person: string
    name: string
    email: string | null
    username: string | null
    student_id: string | null
    class_standing: string | null
    major: string | null
    profile_fields: ColumnType<Record<string, string>, string | undefined, string>
    /** Written by the database alone. */
    balance: ColumnType<number, never, never>
    created_at: Date
    updated_at: Date
  }
  products: {
    id: GeneratedAlways<number>
    org_id: number
    name: string
    description: string
    price: number
    stock: number
    image_url: string | null
    category: string | null
    retired: Generated<boolean>
    created_at: Date
    updated_at: Date
  }
  orders: {
    id: GeneratedAlways<number>
    org_id: number
    membership: string
    total_amount: number
    status: OrderStatus
    message: string | null
    deleted: Generated<boolean>
    created_at: Date
    updated_at: Date
  }
  order_items: {
    order_id: number
    product_id: number
    product_name: string
    quantity: number
    price_at_time: number
  }
  ledger: {
    id: GeneratedAlways<number>
    org_id: number
    membership: string
    points: number
    kind: 'award' | 'csv' | 'purchase' | 'refund' | 'adjust'
    event: string
    awarded_by: string | null
    source_key: string | null
    order_id: number | null
    created_at: Date
  }
  imports: {
    id: string
    org_id: number
    event: string
    points: number
    content: string | null
    asked_by: string | null
    state: 'queued' | 'done' | 'failed'
    result: JSONColumnType<ImportResult> | null
    created_at: Date
  }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
export type Membership = Selectable<Tables['memberships']>
export type ProductRow = Selectable<Tables['products']>
export type OrderRow = Selectable<Tables['orders']>

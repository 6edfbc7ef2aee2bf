import type { BusTables } from '@guildhall/bus/tables'
import type { MemoryKind } from '@guildhall/contracts/agent-memories'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { z } from 'zod'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** Read as what was stored, written as its text. */
type Json<T> = ColumnType<T, string, string>
type AnyJson = z.core.util.JSONType

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  conversations: Owner & {
    id: string
    channel_id: string
    visibility: 'public' | 'private'
    state: Generated<'open' | 'ended'>
    last_seq: Generated<number>
    created_at: Date
    updated_at: Date
  }
  messages: {
    conversation: string
    seq: number
    role: 'system' | 'user' | 'assistant' | 'tool' | 'summary'
    content: Json<AnyJson>
    covers: number | null
    /** Of the content as JSON; null in rows from before it was noted. */
    bytes: number | null
    created_at: Date
  }
  memories: Owner & {
    id: string
    kind: MemoryKind
    content: string | null
    sealed_content: string | null
    confidence: number
    source_seq: number | null
    expires_at: Date | null
    created_at: Date
  }
  nodes: Owner & {
    id: string
    kind: string
    label: string
    vector: Buffer | null
    vector_model: string | null
    updated_at: Date
  }
  relations: Owner & {
    id: string
    subject: string
    relation: string
    object: string
    confidence: number
  }
  pending_actions: Owner & {
    id: string
    action: Json<Record<string, AnyJson>>
    payload_hash: string
    created_at: Date
    expires_at: Date
    answered_at: Date | null
    approved: boolean | null
  }
}

/** Whose a row is: a member of an org. The same person in two orgs is two owners. */
export interface Owner {
  org_id: number
  chat_user_id: string
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
export type MessageRow = Selectable<Tables['messages']>
export type MemoryRow = Selectable<Tables['memories']>

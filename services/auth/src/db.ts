import type { BusTables } from '@guildhall/bus/tables'
import type { MachineToken } from '@guildhall/contracts/tokens'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { Generated, GeneratedAlways, JSONColumnType, Selectable } from 'kysely'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  orgs: {
    id: GeneratedAlways<number>
    prefix: string
    name: string
    description: Generated<string>
    chat_server_id: string
    officer_role_id: string | null
    modules_off: Generated<string[]>
    publisher: Generated<boolean>
    active: Generated<boolean>
    created_at: Generated<Date>
    logo_url: string | null
    accent_color: string | null
    website_url: string | null
  }
  reserved_prefixes: { prefix: string; org_id: number; reserved_at: Generated<Date> }
  secrets: {
    org_id: number
    name: string
    sealed_value: string
    updated_at: Date
    updated_by: string
  }
  signing_keys: {
    kid: string
    sealed_private_key: string
    public_jwk: JSONColumnType<Record<string, string>>
    created_at: Generated<Date>
  }
  sign_in_codes: {
    sha256: string
    chat_user_id: string
    username: string
    expires_at: Date
    used_at: Date | null
  }
  chat_servers: { chat_user_id: string; server_ids: string[] }
  token_pairs: {
    id: string
    family_id: string
    parent_id: string | null
    refresh_sha256: string
    access_jti: string
    access_expires_at: Date
    chat_user_id: string
    username: string
    created_at: Generated<Date>
    /** When the family's person signed in. */
    signed_in_at: Date
    expires_at: Date
    spent_at: Date | null
  }
  revoked_tokens: { jti: string; expires_at: Date }
  app_tokens: {
    /** The token's `jti`. */
    id: string
    chat_user_id: string
    app_name: string
    created_at: Date
    expires_at: Date
  }
  machine_tokens: {
    id: string
    org_id: number
    name: string
    kind: MachineToken['kind']
    scopes: string[]
    limits: JSONColumnType<MachineToken['limits']>
    sha256: string
    display: string
    created_by: string
    created_at: Generated<Date>
    expires_at: Date | null
    last_used_at: Date | null
    chat_user_id: string | null
    username: string | null
  }
  member_sessions: {
    id: string
    sha256: string
    chat_user_id: string
    username: string
    created_at: Date
    seen_at: Date
    expires_at: Date
  }
  account_links: {
    chat_user_id: string
    subject: string
    email: string
    linked_at: Generated<Date>
  }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
export type OrgRow = Selectable<Tables['orgs']>
export type AppTokenRow = Selectable<Tables['app_tokens']>
export type SecretRow = Selectable<Tables['secrets']>
/** A secret without its value. */
export type SecretMark = Pick<SecretRow, 'name' | 'updated_at' | 'updated_by'>
export type MachineTokenRow = Selectable<Tables['machine_tokens']>
export type SessionRow = Selectable<Tables['member_sessions']>
export type PairRow = Selectable<Tables['token_pairs']>

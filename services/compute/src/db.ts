import type { BusTables } from '@guildhall/bus/tables'
import type { Manifest } from '@guildhall/contracts/app-manifest'
import type { DeploymentState } from '@guildhall/contracts/apps'
import type { Machine, PodAction } from '@guildhall/contracts/compute'
import type { AuditEvent } from '@guildhall/contracts/event'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { Generated, GeneratedAlways, JSONColumnType, Selectable } from 'kysely'
import type { z } from 'zod'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  pods: {
    id: string
    org_id: number
    state: 'creating' | 'live'
    pod_id: string | null
    name: string
    is_public: boolean
    allowed_users: string[]
    machine: JSONColumnType<Machine>
    created_by: string | null
    created_at: Date
    host_key: string | null
    host_key_start: string | null
    schedule_lease: string | null
    schedule_lease_until: Date | null
  }
  pod_actions: {
    id: string
    pod: string
    action: PodAction
    asked_by: JSONColumnType<Actor>
    asked_at: Date
    superseded: Generated<boolean>
  }
  sessions: {
    id: string
    pod: string
    title: string
    start_at: Date
    stop_at: Date
    started: Generated<boolean>
    started_pod: Generated<boolean>
    finished: Generated<boolean>
    removed: Generated<boolean>
    created_by: string
    created_at: Date
  }
  org_keys: {
    org_id: number
    name: KeyName
    public_key: string
    sealed_private_key: string
    created_at: Date
  }
  certificates: {
    serial: GeneratedAlways<number>
    org_id: number
    pod_id: string
    key_id: string
    fingerprint: string
    is_admin: boolean
    valid_after: Date
    valid_before: Date
  }
  user_folders: { org_id: number; chat_user_id: string; folder: string }
  settings: { org_id: number; pod_image: string | null }
  apps: {
    id: string
    org_id: number
    name: string
    manifest: JSONColumnType<Manifest>
    repo: string | null
    manifest_path: string | null
    current_tag: string | null
    pod: string | null
    created_at: Date
    updated_at: Date
  }
  deployments: {
    id: string
    app: string
    tag: string
    ref: string | null
    commit: string | null
    manifest: JSONColumnType<Manifest>
    rollback: boolean
    state: z.output<typeof DeploymentState>
    error: string | null
    pod: string | null
    handed_at: Date | null
    started_before: string | null
    restart_due: Generated<boolean>
    created_by: string
    created_at: Date
    finished_at: Date | null
  }
}

/** Who asked for something, as its audit line says it. */
export type Actor = Pick<AuditEvent, 'source' | 'actor_kind' | 'actor_id'>

/** `backend` opens root on each pod of the org, `user_ca` signs certificates. */
export type KeyName = 'backend' | 'user_ca'

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
export type PodRow = Selectable<Tables['pods']>
/** A pod that the host has answered for. */
export type LivePod = PodRow & { pod_id: string }
export type SessionRow = Selectable<Tables['sessions']>
export type AppRow = Selectable<Tables['apps']>
export type DeploymentRow = Selectable<Tables['deployments']>

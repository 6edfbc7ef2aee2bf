import type { Caller } from '@guildhall/contracts/caller'
import type { OrgRef, Route } from '@guildhall/contracts/route'

/** A request about an app, by a machine token or from the dashboard. */
export interface OfApp {
  org: OrgRef
  params: { name: string }
}

/** Who changes or deploys an app. */
export type By = Extract<Caller, { kind: 'machine' | 'officer' }>

/** Whose name stands on what they make: a chat user id, or the id of a machine token. */
export const nameOf = (by: By) => (by.kind === 'machine' ? by.token_id : by.chat_user_id)

/** A request to deploy or to roll back, and its contract. */
export interface Deploying {
  route: Route
  input: OfApp & {
    caller: By
    body: { dry_run: boolean }
    query: unknown
    idempotency_key: string | undefined
  }
}

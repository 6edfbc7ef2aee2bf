import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db.ts'

/** A message to send. */
export interface Alert {
  group_id: string
  target: 'org' | 'deployment'
  returned: boolean
  held: boolean
  attempts: number
  org_id: number | null
  service: string
  kind: string
  message: string
  location: string | null
  route: string | null
}

/** Until a message that is not sent by then is tried again: a minute, and twice as long after each try. */
const CLAIMED = sql`attempts = attempts + 1, due_at = now() + make_interval(mins => (2 ^ attempts)::int)`
const COLUMNS = sql`group_id, target, returned, held, attempts, org_id, service, kind, message, location, route`

/** The channels of one lane: the deployment's one, or those of the orgs. */
export type Target = Alert['target']

/** The deployment has one channel for errors of all orgs. */
const sameChannel = (target: Target, org: RawBuilder<unknown>) =>
  target === 'deployment'
    ? sql`other.target = 'deployment'`
    : sql`other.target = 'org' and other_group.org_id = ${org}`
/** Something of the channel was tried and is not due again, or is under way. */
const channelRests = (target: Target, org: RawBuilder<unknown>) => sql`exists (
  select from error_alerts other join error_groups other_group on other_group.id = other.group_id
  where ${sameChannel(target, org)} and other.attempts > 0 and other.due_at > now())`

/** Takes the next message that is due, of a channel that does not rest after a failure; nothing where none is. */
export async function claimAlert(db: Db, target: Target): Promise<Alert | undefined> {
  const { rows } = await sql<Alert>`
    update error_alerts set ${CLAIMED} from error_groups
    where error_groups.id = group_id and (group_id, target) = (
      select waiting.group_id, waiting.target
      from error_alerts waiting join error_groups on error_groups.id = waiting.group_id
      where waiting.target = ${target} and not waiting.held and waiting.due_at <= now()
        and not ${channelRests(target, sql.ref('error_groups.org_id'))}
      order by waiting.due_at limit 1 for update of waiting skip locked)
    returning ${COLUMNS}`.execute(db)
  return rows[0]
}

/** The orgs, and null for the server, of whose errors a channel was not told. */
export async function heldOrgs(db: Db, target: Target): Promise<(number | null)[]> {
  const rows = await db
    .selectFrom('error_alerts')
    .innerJoin('error_groups', 'error_groups.id', 'group_id')
    .select('org_id')
    .distinct()
    .where('target', '=', target)
    .where('held', '=', true)
    .where('due_at', '<=', sql<Date>`now()`)
    .execute()
  return rows.map(({ org_id }) => org_id)
}

/** Takes all errors of an org, or of the server, that a channel was not told of; nothing while the channel rests. */
export async function claimHeld(db: Db, target: Target, org: number | null): Promise<Alert[]> {
  const { rows } = await sql<Alert>`
    update error_alerts set ${CLAIMED} from error_groups
    where error_groups.id = group_id and target = ${target} and org_id is not distinct from ${org}
      and held and due_at <= now() and not ${channelRests(target, sql`${org}`)}
    returning ${COLUMNS}`.execute(db)
  return rows
}

/** Counts a failure for everything that waits for the same channel, and forgets what failed `most` times. */
export async function failChannel(db: Db, { target, org_id: org }: Alert, most: number) {
  const ofChannel = sql`(group_id, target) in (
    select other.group_id, other.target
    from error_alerts other join error_groups other_group on other_group.id = other.group_id
    where ${sameChannel(target, sql`${org}`)})`
  await sql`update error_alerts set ${CLAIMED} where due_at <= now() and ${ofChannel}`.execute(db)
  await sql`delete from error_alerts where attempts >= ${most} and ${ofChannel}`.execute(db)
}

/** Keeps messages back until there is room for one that counts them. */
export async function hold(db: Db, alerts: Alert[]) {
  await each(
    db,
    alerts,
    (groups, targets) => sql`
    update error_alerts set held = true, attempts = 0, due_at = now()
    where (group_id, target) in (select * from unnest(${groups}::uuid[], ${targets}::text[]))`,
  )
}

/** Forgets messages that are sent, or that nobody wants. */
export async function deleteAlerts(db: Db, alerts: Alert[]) {
  await each(
    db,
    alerts,
    (groups, targets) => sql`
    delete from error_alerts
    where (group_id, target) in (select * from unnest(${groups}::uuid[], ${targets}::text[]))`,
  )
}

function each(
  db: Db,
  alerts: Alert[],
  statement: (groups: string[], targets: string[]) => ReturnType<typeof sql>,
) {
  const groups = alerts.map(({ group_id }) => group_id)
  return statement(
    groups,
    alerts.map(({ target }) => target),
  ).execute(db)
}

import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** A message to send. */
export interface Alert {
  group_id: string
  target: 'org' | 'deployment'
  returned: boolean
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
const COLUMNS = sql`group_id, target, returned, attempts, org_id, service, kind, message, location, route`
/** One channel of the deployment for all, and one of each org. */
const CHANNEL = sql`(target, case target when 'org' then org_id else 0 end)`

/** Takes the next message that is due; nothing where none is. */
export async function claimAlert(db: Db): Promise<Alert | undefined> {
  const { rows } = await sql<Alert>`
    update error_alerts set ${CLAIMED} from error_groups
    where error_groups.id = group_id and (group_id, target) = (
      select group_id, target from error_alerts where not held and due_at <= now()
      order by due_at limit 1 for update skip locked)
    returning ${COLUMNS}`.execute(db)
  return rows[0]
}

/** Takes all that one channel was not told of; nothing where every channel was. */
export async function claimHeld(db: Db): Promise<Alert[]> {
  const { rows } = await sql<Alert>`
    update error_alerts set ${CLAIMED} from error_groups
    where error_groups.id = group_id and held and due_at <= now() and ${CHANNEL} = (
      select target, case target when 'org' then org_id else 0 end
      from error_alerts join error_groups on error_groups.id = group_id
      where held and due_at <= now() order by due_at limit 1)
    returning ${COLUMNS}`.execute(db)
  return rows
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

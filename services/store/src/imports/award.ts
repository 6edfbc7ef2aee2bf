import type { ImportResult } from '@guildhall/contracts/point-imports'
import { newId } from '@guildhall/service/id'
import { type Selectable, sql } from 'kysely'
import type { Tables, Trx } from '../db.ts'
import { holdPeople } from '../people/people.ts'
import { type Attendance, namedRows } from './read-csv.ts'

export type ImportRow = Selectable<Tables['imports']>

/** Awards the event of an import to who attended; who has it already is skipped, whom nobody knows is added. */
export async function awardAttended(
  trx: Trx,
  file: ImportRow,
  { attended, skipped, errors }: Attendance,
  now: Date,
): Promise<ImportResult> {
  await holdPeople(trx) // who is read here is not joined with another before the points are theirs
  const emails = attended.map(({ email }) => email)
  const known = await membersByEmail(trx, file.org_id, emails)
  const before = await awardedBefore(trx, file, emails)
  const strangers = attended.filter(({ email }) => !known.has(email) && !before.has(email))
  const created = await addMembers(trx, file.org_id, strangers, now)
  // some may have been added by others meanwhile
  const all = strangers.length > 0 ? await membersByEmail(trx, file.org_id, emails) : known
  // two emails may be one member's
  const one = new Map(
    emails.filter((email) => all.has(email)).map((email) => [all.get(email), email]),
  )
  const awarded = await awardOnce(trx, file, one, now)
  const missed = skipped + emails.length - awarded
  return { awarded, skipped: missed, created, ...namedRows(errors) }
}

/** The members of these emails: who proved one comes before whom an officer noted under it. */
async function membersByEmail(trx: Trx, orgId: number, emails: string[]) {
  const { rows } = await sql<{ email: string; id: string }>`
    select m.email, m.id, false as proved
    from memberships m where m.org_id = ${orgId} and m.email = any(${emails}::text[])
    union all
    select p.email, m.id, true from people p join memberships m on m.person = p.id
    where p.email = any(${emails}::text[]) and m.org_id = ${orgId}
    order by proved
  `.execute(trx)
  return new Map(rows.map(({ email, id }) => [email, id]))
}

/** One award per email and event, ever; an event is the same however its letters are written. */
const sourceKey = (event: string, email: string) => `csv:${event.toLowerCase()}:${email}`

/** The emails that have been awarded it, whosever they are called by now. */
async function awardedBefore(trx: Trx, { org_id, event }: ImportRow, emails: string[]) {
  const byKey = new Map(emails.map((email) => [sourceKey(event, email), email]))
  const { rows } = await sql<{ source_key: string }>`
    select source_key from ledger
    where org_id = ${org_id} and source_key = any(${[...byKey.keys()]}::text[])
  `.execute(trx)
  return new Set(rows.map(({ source_key }) => byKey.get(source_key)))
}

/**
 * Adds members whose emails nobody has proved, and answers how many. By email, so that two files of the same
 * strangers wait for each other in one order.
 */
async function addMembers(trx: Trx, orgId: number, people: Attendance['attended'], now: Date) {
  if (people.length === 0) return 0
  const rows = people
    .toSorted((a, b) => (a.email < b.email ? -1 : 1))
    .map(({ email, name }) => ({ id: newId(), person: newId(), email, name }))
  const sent = JSON.stringify(rows)
  await sql`
    insert into people (id, created_at)
    select person, ${now} from json_to_recordset(${sent}::json) as sent (person uuid)
  `.execute(trx)
  const { numAffectedRows = 0n } = await sql`
    insert into memberships (id, org_id, person, name, email, created_at, updated_at)
    select id, ${orgId}, person, name, email, ${now}, ${now}
    from json_to_recordset(${sent}::json) as sent (id uuid, person uuid, name text, email text)
    on conflict on constraint memberships_email do nothing
  `.execute(trx)
  if (Number(numAffectedRows) < rows.length)
    await sql`
      delete from people where id = any(${rows.map(({ person }) => person)}::uuid[])
      and not exists (select from memberships where person = people.id)
    `.execute(trx)
  return Number(numAffectedRows)
}

async function awardOnce(
  trx: Trx,
  { org_id, event, points, asked_by }: ImportRow,
  members: Map<string | undefined, string>,
  now: Date,
) {
  const rows = [...members].map(([member, email]) => ({
    member,
    source_key: sourceKey(event, email),
  }))
  const ids = rows.map(({ member }) => member)
  await sql`
    select from memberships where id = any(${ids}::uuid[]) order by id for no key update
  `.execute(trx)
  const { numAffectedRows = 0n } = await sql`
    insert into ledger (org_id, membership, points, kind, event, awarded_by, source_key, created_at)
    select ${org_id}, member, ${points}, 'csv', ${event}, ${asked_by}, source_key, ${now}
    from json_to_recordset(${JSON.stringify(rows)}::json) as sent (member uuid, source_key text)
    where not exists (
      select from ledger l
      where l.membership = sent.member and l.kind = 'csv' and lower(l.event) = lower(${event})
    )
    on conflict on constraint ledger_once do nothing
  `.execute(trx)
  return Number(numAffectedRows)
}

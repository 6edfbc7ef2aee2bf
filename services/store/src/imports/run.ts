import { ask } from '@guildhall/bus/calls'
import type { FailedRun } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { findOrg } from '@guildhall/contracts/orgs'
import {
  ImportArgs,
  type ImportResult,
  type importEventCsv,
  pointsImported,
} from '@guildhall/contracts/point-imports'
import { transact } from '@guildhall/db/transact'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'
import type { Db, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { awardAttended, type ImportRow } from './award.ts'
import { type Attendance, readAttendance } from './read-csv.ts'

type Sent = z.output<typeof importEventCsv.args>

export const importById = (db: Db, id: string) =>
  db.selectFrom('imports').selectAll().where('id', '=', id).executeTakeFirst()

/**
 * Reads the attendance file of a run and awards its event, in one transaction. Once it has, it does nothing more.
 * The run keeps the counts; the rows that cannot be used are the import's.
 */
export async function runImport(deps: Deps, run_id: string, sent: Sent) {
  const { db } = deps
  const file = (await importById(db, run_id)) ?? (await keepSent(deps, run_id, sent))
  if (file.state !== 'queued') return file.result && countsOf(file.result)
  const read = readAttendance(file.content ?? '')
  const result = await transact(db, (trx) => finish(trx, file, read, deps.now()))
  return result && countsOf(result)
}

const countsOf = ({ errors: _, ...counts }: ImportResult) => counts

/** Ends the import of a run that has failed for good: it says why, and the file with its emails goes. */
export async function failImport(trx: Trx, { run_id, error }: FailedRun) {
  const reason = error instanceof AppError ? error.message : OUR_FAULT
  const errors = [{ row: 1, reason }]
  const result = { awarded: 0, skipped: 0, created: 0, errors, errors_total: 1 }
  await end(trx, run_id, { state: 'failed', result })
}

const OUR_FAULT =
  'Nothing was awarded, by a fault of Guildhall that its operator sees in the error log; send the file again'

async function finish(trx: Trx, { id }: ImportRow, read: Attendance, now: Date) {
  const file = await trx
    .selectFrom('imports')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirstOrThrow()
  if (file.state !== 'queued') return file.result
  const result = await awardAttended(trx, file, read, now)
  await end(trx, id, { state: 'done', result })
  const by = { source: 'job', actor_kind: 'job', actor_id: null } as const
  const { awarded, created } = result
  const said = { import_id: id, awarded, created }
  await enqueue(trx, audit(pointsImported, by, { id: file.org_id }, said))
  return result
}

const end = (
  trx: Trx,
  id: string,
  { state, result }: { state: 'done' | 'failed'; result: ImportResult },
) =>
  trx
    .updateTable('imports')
    .set({ state, result: JSON.stringify(result), content: null })
    .where('id', '=', id)
    .where('state', '=', 'queued')
    .execute()

/** Keeps what the operator sent along, so that a second attempt finds it. */
async function keepSent({ db, bus, now }: Deps, id: string, sent: Sent): Promise<ImportRow> {
  const args = ImportArgs.safeParse(sent)
  if (!args.success)
    throw new AppError(
      'invalid',
      'import.arguments',
      'Send org_prefix, event_name, event_points and file_content',
    )
  const { org_prefix: prefix, event_name: event, event_points: points, file_content } = args.data
  const { org } = await ask(bus, findOrg, { prefix })
  if (!org) throw new AppError('not_found', 'org.not_found', `There is no org ${prefix}`)
  const row = { id, org_id: org.id, event, points, content: file_content, asked_by: null }
  return db
    .insertInto('imports')
    .values({ ...row, state: 'queued', result: null, created_at: now() })
    .onConflict((on) => on.column('id').doUpdateSet({ event }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

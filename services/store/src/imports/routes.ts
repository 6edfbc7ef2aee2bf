import { queueJob } from '@guildhall/bus/jobs'
import { getImport, importEventCsv, uploadEventCsv } from '@guildhall/contracts/point-imports'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Deps } from '../deps.ts'
import { decodeFile, readAttendance } from './read-csv.ts'
import { importById } from './run.ts'

const NOTHING = { awarded: 0, skipped: 0, created: 0, errors: [] }

export function importRoutes(app: App, { db, now }: Deps) {
  app.implement(uploadEventCsv, async ({ org, body, caller }, reply) => {
    const content = decodeFile(body.file[0]?.bytes ?? new Uint8Array())
    readAttendance(content) // a file of another kind is refused at once, not in the job
    const id = newId()
    const { event_name: event, event_points: points } = body
    await db.transaction().execute(async (trx) => {
      const row = { id, org_id: org.id, event, points, content, asked_by: caller.username }
      await trx
        .insertInto('imports')
        .values({ ...row, state: 'queued', result: null, created_at: now() })
        .execute()
      await queueJob(trx, importEventCsv, {}, id)
    })
    return reply.code(202).send({ job_id: id })
  })

  app.implement(getImport, async ({ org, params }) => {
    const found = await importById(db, params.job_id)
    if (!found || found.org_id !== org.id) throw importNotFound()
    return { ...NOTHING, ...found.result, state: found.state }
  })
}

const importNotFound = () =>
  new AppError(
    'not_found',
    'import.not_found',
    'There is no such import; results are kept for 90 days',
  )

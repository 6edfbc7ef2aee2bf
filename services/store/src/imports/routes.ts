import { queueJob } from '@guildhall/bus/jobs'
import {
  getImport,
  importEventCsv,
  importPoints,
  uploadEventCsv,
} from '@guildhall/contracts/point-imports'
import { transact } from '@guildhall/db/transact'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Deps } from '../deps.ts'
import { nameOf } from '../points/name-of.ts'
import { decodeFile, namedRows, readAttendance } from './read-csv.ts'
import { importById } from './run.ts'

const NOTHING = { awarded: 0, skipped: 0, created: 0, errors: [], errors_total: 0 }

export function importRoutes(app: App, { db, now }: Deps) {
  app.implement(uploadEventCsv, async ({ org, body, caller }, reply) => {
    const content = decodeFile(body.file[0]?.bytes ?? new Uint8Array())
    readAttendance(content) // a file of another kind is refused at once, not in the job
    const { event_name: event, event_points: points } = body
    const job_id = await keep({ org_id: org.id, event, points, content, asked_by: nameOf(caller) })
    return reply.code(202).send({ job_id })
  })

  app.implement(importPoints, async ({ org, body, caller }, reply) => {
    const { event_name: event, event_points: points, file_content: content } = body
    const { attended, skipped, errors } = readAttendance(content)
    if (body.dry_run)
      return reply.code(200).send({ attended: attended.length, skipped, ...namedRows(errors) })
    const job_id = await keep({ org_id: org.id, event, points, content, asked_by: nameOf(caller) })
    return reply.code(202).send({ job_id })
  })

  app.implement(getImport, async ({ org, params }) => {
    const found = await importById(db, params.job_id)
    if (!found || found.org_id !== org.id) throw importNotFound()
    return { ...NOTHING, ...found.result, state: found.state }
  })

  /** Keeps a file under the id of the job that awards it. */
  async function keep(file: NewImport) {
    const id = newId()
    await transact(db, async (trx) => {
      await trx
        .insertInto('imports')
        .values({ id, ...file, state: 'queued', result: null, created_at: now() })
        .execute()
      await queueJob(trx, importEventCsv, { org_id: file.org_id }, id)
    })
    return id
  }
}

interface NewImport {
  org_id: number
  event: string
  points: number
  content: string
  asked_by: string
}

const importNotFound = () =>
  new AppError(
    'not_found',
    'import.not_found',
    'There is no such import; results are kept for 90 days',
  )

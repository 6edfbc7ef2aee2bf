import { Readable } from 'node:stream'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  deleteFile,
  fileDeleted,
  fileRenamed,
  fileUploaded,
  fileWritten,
  folderMade,
  MOST_TEXT_BYTES,
  makeFolder,
  renameFile,
  uploadFile,
  writeFile,
} from '@guildhall/contracts/pod-files'
import type { App } from '@guildhall/service/app'
import type { Db } from '../db.ts'
import { checkKept, checkNotRegister, makeDirectory, move, remove } from './change.ts'
import type { OnPod } from './on-pod.ts'
import { normalised, targetOf, tooLarge } from './rules.ts'
import { save } from './save.ts'

type Line = Parameters<typeof enqueue>[1]

/** What changes files; each line of the audit log follows the change, which no transaction can hold. */
export function changeRoutes(app: App, { db, pods }: { db: Db; pods: OnPod }) {
  const note = (line: Line) => db.transaction().execute((trx) => enqueue(trx, line))

  app.implement(writeFile, async (input) => {
    const { org, params, body, caller } = input
    const [path, bytes] = [normalised(body.path), Buffer.from(body.content)]
    if (bytes.length > MOST_TEXT_BYTES) throw tooLarge(path, MOST_TEXT_BYTES)
    const size = await pods.work(input, path, ({ remote, mount }) => {
      checkNotRegister(path, mount)
      return save(remote, path, Readable.from([bytes]))
    })
    await note(audit(fileWritten, caller, org, { pod_id: params.pod_id, path, size }))
    return { path, size }
  })

  app.implement(uploadFile, async (input) => {
    const { org, params, body, caller } = input
    const path = targetOf(body.path, body.file.name)
    const size = await pods.work(input, path, ({ remote, mount }) => {
      checkNotRegister(path, mount)
      return save(remote, path, body.file.bytes)
    })
    await note(audit(fileUploaded, caller, org, { pod_id: params.pod_id, path, size }))
    return { path, size }
  })

  app.implement(makeFolder, async (input) => {
    const { org, params, body, caller } = input
    const path = normalised(body.path)
    await pods.work(input, path, ({ remote, mount }) => {
      checkNotRegister(path, mount)
      return makeDirectory(remote, path)
    })
    await note(audit(folderMade, caller, org, { pod_id: params.pod_id, path }))
    return { path }
  })

  app.implement(renameFile, async (input) => {
    const { org, params, body, caller } = input
    const paths = { old_path: normalised(body.old_path), new_path: normalised(body.new_path) }
    await pods.work(input, paths.old_path, async ({ remote, mount }) => {
      for (const path of Object.values(paths)) checkNotRegister(path, mount)
      await checkKept(remote, paths.old_path, mount)
      await move(remote, paths.old_path, paths.new_path)
    })
    await note(audit(fileRenamed, caller, org, { pod_id: params.pod_id, ...paths }))
    return paths
  })

  app.implement(deleteFile, async (input) => {
    const { org, params, body, caller } = input
    const path = normalised(body.path)
    await pods.work(input, path, async ({ remote, mount }) => {
      checkNotRegister(path, mount)
      await checkKept(remote, path, mount)
      await remove(remote, path)
    })
    await note(audit(fileDeleted, caller, org, { pod_id: params.pod_id, path }))
    return { path, deleted: true }
  })
}

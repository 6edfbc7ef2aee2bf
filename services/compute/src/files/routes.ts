import { downloadFile, listFiles, readFile } from '@guildhall/contracts/pod-files'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { changeRoutes } from './change-routes.ts'
import { createOnPod } from './on-pod.ts'
import { entriesOf, openDownload, readText } from './read.ts'
import { attachment, normalised } from './rules.ts'

export function fileRoutes(app: App, deps: Deps) {
  const pods = createOnPod(deps)
  app.addHook('onClose', async () => pods.close())
  changeRoutes(app, { db: deps.db, pods })

  app.implement(listFiles, async (input) => {
    const asked = input.query.path && normalised(input.query.path)
    return pods.work(input, asked, async ({ remote, mount }) => {
      const path = asked ?? mount
      return { path, ...(await entriesOf(remote, path)) }
    })
  })

  app.implement(readFile, async (input) => {
    const path = normalised(input.body.path)
    return { path, content: await pods.work(input, path, ({ remote }) => readText(remote, path)) }
  })

  app.implement(downloadFile, async (input, reply) => {
    const path = normalised(input.body.path)
    const { stream, size, name } = await pods.hold(input, path, (held) => openDownload(held, path))
    reply.header('content-type', 'application/octet-stream')
    reply.header('content-disposition', attachment(name)).header('content-length', String(size))
    return reply.code(200).send(stream)
  })
}

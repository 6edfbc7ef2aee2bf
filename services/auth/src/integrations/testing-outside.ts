import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'

export interface OutsideRequest {
  method: string | undefined
  path: string | undefined
  headers: IncomingMessage['headers']
}

/** An outside service on loopback that accepts one bearer key; `answer` says what else it does. */
export async function outsideService(t: Pick<TestContext, 'after'>, key: string) {
  const asked: OutsideRequest[] = []
  const answer = { status: 200, body: '{}' }
  const server = createServer((request, reply) => {
    const { method, url: path, headers } = request
    asked.push({ method, path, headers })
    const allowed = headers.authorization === `Bearer ${key}`
    reply.statusCode = allowed ? answer.status : 401
    reply.end(allowed ? answer.body : `wrong key: ${headers.authorization}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, asked, answer }
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'

export interface Visit {
  host: string
  path: string
  headers: IncomingMessage['headers']
  method: string
  body: string
  began: number
  ended: number
}
type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/** A page whose main content is long enough to be taken for it. */
export const page = (title: string, sentence: string, times = 12) =>
  `<html><head><title>${title}</title></head><body><nav>Home Imprint</nav><main><article><h1>${title}</h1><p>${`${sentence} `.repeat(times)}</p></article></main><footer>Footer</footer><script>var x</script></body></html>`

/** Answers with this text. */
export const says =
  (body: string | Uint8Array, headers: Record<string, string> = {}, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body)

/** Web sites over HTTP: `pages` by path for every name, robots.txt too; a path without one answers 404. */
export async function testSite(t: Pick<TestContext, 'after'>) {
  const pages = new Map<string, Answer>()
  const visits: Visit[] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const { host = '', ...headers } = request.headers
    const came = { host, path, headers, method: request.method ?? '', began: performance.now() }
    const body = Buffer.concat(await request.toArray()).toString()
    const visit: Visit = { ...came, body, ended: Number.POSITIVE_INFINITY }
    visits.push(visit)
    response.on('close', () => (visit.ended = performance.now()))
    const answer = pages.get(path) ?? pages.get(path.replace(/\?.*/, ''))
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const at = (path: string, name = 'site.test') => `http://${name}:${port}${path}`
  const paths = () => visits.map(({ path }) => path)
  return { pages, visits, paths, at, port }
}

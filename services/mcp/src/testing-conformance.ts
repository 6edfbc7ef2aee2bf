import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanUp } from '@guildhall/service/testing'

type Test = Pick<TestContext, 'after'>
/** Headers that the suite cannot send itself: a credential. */
type Credential = (req: IncomingMessage) => Record<string, string>

const SUITE = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
)

/**
 * Runs every scenario of the protocol's own conformance suite, and answers its exit code, what it printed and the
 * scenarios that passed. Those in the file `baseline` are expected to fail: one that does not is a fault too.
 */
export async function conformance(
  t: Test,
  { url, credential, baseline }: { url: string; credential: Credential; baseline: string },
) {
  const door = await withCredential(t, url, credential)
  const results = await mkdtemp(join(tmpdir(), 'guildhall-test-conformance-'))
  cleanUp(t, () => rm(results, { recursive: true, force: true }))
  const file = fileURLToPath(new URL(`../conformance/${baseline}`, import.meta.url))
  const told = ['--suite', 'all', '--expected-failures', file, '-o', results]
  const child = spawn(process.execPath, [SUITE, 'server', '--url', `${door}/mcp`, ...told])
  const [said, faults, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ])
  return { code, passed: await passedIn(results), said: said + faults }
}

/** The scenarios that checked something, and none of whose checks failed, by name. */
async function passedIn(results: string): Promise<string[]> {
  const passed: string[] = []
  for (const folder of (await readdir(results)).toSorted()) {
    const [, name] = folder.match(/^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/) ?? []
    const checks = await readFile(join(results, folder, 'checks.json'), 'utf8')
    const statuses = (JSON.parse(checks) as { status: string }[]).map(({ status }) => status)
    const isGood = statuses.includes('SUCCESS') && !statuses.includes('FAILURE')
    if (name !== undefined && isGood) passed.push(name)
  }
  return passed
}

/** A door on this machine that adds a credential to each request, and changes nothing else. */
async function withCredential(t: Test, to: string, credential: Credential): Promise<string> {
  const { hostname, port } = new URL(to)
  const door = createServer((req, res) => {
    const { method, url: path } = req
    const headers = { ...req.headers, ...credential(req) }
    const outgoing = request({ hostname, port, path, method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    outgoing.on('error', () => res.destroy())
    req.pipe(outgoing)
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  cleanUp(t, async () => {
    door.closeAllConnections()
    door.close()
  })
  return `http://127.0.0.1:${(door.address() as AddressInfo).port}`
}

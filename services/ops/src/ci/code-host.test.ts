import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { AppError } from '@guildhall/service/errors'
import { cleanUp } from '@guildhall/service/testing'
import { openCodeHost } from './code-host.ts'

interface Answer {
  status: number
  headers?: Record<string, string>
}
const START = Date.UTC(2031, 0, 1, 12, 0, 0)
const BODY = JSON.stringify({ private: false, workflow_runs: [] })

/** A code host that gives `answers` by path, and else that of a public repository without runs. */
async function setUp(t: TestContext, CODEHOST_TOKEN?: string) {
  const answers: Record<string, Answer> = {}
  const asked: { path: string; token: IncomingHttpHeaders['authorization'] }[] = []
  const server = createServer((req, res) => {
    const path = String(req.url?.replace(/\?.*/, ''))
    asked.push({ path, token: req.headers.authorization })
    const { status, headers } = answers[path] ?? { status: 200 }
    res.writeHead(status, headers).end(BODY)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = { now: START }
  const codeHost = openCodeHost(
    { CODEHOST_API_URL: url, CODEHOST_TOKEN },
    () => new Date(clock.now),
  )
  const refusal = async (repo = 'club/site', own?: string) => {
    const error = await codeHost.runs(repo, own).then(
      () => undefined,
      (one: unknown) => one,
    )
    assert.ok(error instanceof AppError, String(error))
    return `${error.code}: ${error.message}`
  }
  return { answers, asked, url, clock, codeHost, refusal }
}

test('a limit that is used up is told with its end, and nothing is asked until then', async (t) => {
  const used = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(START / 1000 + 1_800) }
  const limits: [Answer, string, number][] = [
    [{ status: 403, headers: used }, '12:30', 1_800],
    [{ status: 403, headers: { 'retry-after': '120' } }, '12:02', 120],
    [{ status: 429, headers: used }, '12:30', 1_800],
    [{ status: 429 }, '12:01', 60],
  ]
  for (const [answer, time, seconds] of limits) {
    const { answers, asked, clock, codeHost, refusal } = await setUp(t)
    answers['/repos/club/site'] = answer
    assert.match(await refusal(), new RegExp(`^codehost.limited: .*2031-01-01 ${time} UTC`))
    delete answers['/repos/club/site']
    clock.now = START + seconds * 1000 - 1
    assert.match(await refusal('club/other'), new RegExp(`${time} UTC.*github_token`))
    assert.equal(asked.length, 1)
    clock.now += 1
    assert.deepEqual(await codeHost.runs('club/site', undefined), [])
  }
})

test('each token has a limit of its own, which a header cannot make longer than an hour', async (t) => {
  const { answers, clock, codeHost, refusal } = await setUp(t, 'of-deployment')
  answers['/repos/club/site'] = { status: 403, headers: { 'retry-after': '999999' } }
  assert.match(await refusal(), /13:00 UTC/)
  assert.deepEqual(await codeHost.runs('club/site', 'of-org'), [])
  clock.now += 3_600_000
  assert.match(await refusal(), /14:00 UTC/)
})

test('what the token may not read names the token, and what is not there the name', async (t) => {
  const { answers, refusal } = await setUp(t, 'of-deployment')
  const headers = { 'x-ratelimit-remaining': '59', 'x-github-sso': 'required; url=https://x.test' }
  for (const path of ['/repos/club/site', '/repos/club/site/actions/runs'])
    answers[path] = { status: 403, headers }
  assert.match(await refusal(), /^codehost.forbidden: .*CODEHOST_TOKEN.*club\/site/)
  assert.match(await refusal('club/site', 'own'), /^codehost.forbidden: .*github_token.*single/)
  answers['/repos/club/none'] = { status: 404 }
  assert.match(await refusal('club/none'), /^repo.not_found: .*club\/none.*Correct the name/)
  answers['/repos/club/site'] = { status: 401 }
  assert.match(await refusal(), /^codehost.token_refused/)
  const without = await setUp(t)
  without.answers['/repos/club/site'] = { status: 403 }
  assert.match(await without.refusal(), /^codehost.forbidden: .*without a token/)
})

test('a repository that was renamed is read where it is now, and nobody else gets the token', async (t) => {
  const { answers, asked, url, codeHost, refusal } = await setUp(t, 'of-deployment')
  const to = (location: string): Answer => ({ status: 301, headers: { location } })
  answers['/repos/club/old'] = to(`${url}/repositories/7`)
  answers['/repos/club/old/actions/runs'] = to('/repositories/7/actions/runs')
  assert.deepEqual(await codeHost.runs('club/old', undefined), [])
  assert.equal(asked.at(-1)?.path, '/repositories/7/actions/runs')
  assert.equal(asked.at(-1)?.token, 'Bearer of-deployment')

  const other = await setUp(t)
  answers['/repos/club/gone'] = to(`${other.url}/repositories/8`)
  assert.match(await refusal('club/gone'), /^codehost.moved: .*club\/gone.*correct the name/)
  assert.deepEqual(other.asked, [])
  answers['/repos/club/loop'] = to('/repos/club/loop')
  assert.match(await refusal('club/loop'), /^codehost.moved/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putFeed, runFeedNow } from '@guildhall/contracts/alerts'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { launch, newHome, ready } from './launched.ts'
import { clientOf, signIn } from './people.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const JOB_MS = 60_000

interface Line {
  logger: string
  msg: string
  trace_id?: string
  route?: string
  status?: number
  call?: string
  job?: string
  reason?: string
}

/** What a process has logged so far; a line that is not whole yet is none. */
const linesOf = (output: string): Line[] =>
  output.split('\n').flatMap((line) => (/^\{.*\}$/.test(line) ? [JSON.parse(line) as Line] : []))

test('one trace leads from a request to its calls over NATS and to the job that it queued', async (t) => {
  const env = { LOG_LEVEL: 'debug', LOG_FORMAT: 'json' }
  const stack = await launch(t, await newHome(t), env)
  const url = await ready(stack)
  const { access_token } = await signIn(url, people.officer)
  const params = { org: 'demo', key: 'demo-internships' }
  const officer = clientOf(url, access_token)
  const config = { repo: 'nobody/none' }
  assert.equal((await officer.call(putFeed, { params, body: { config } })).status, 200)
  const headers = {
    authorization: `Bearer ${access_token}`,
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
  }
  const path = runFeedNow.url.replace(':org', params.org).replace(':key', params.key)
  const asked = await fetch(url + path, { method: 'POST', headers })
  assert.equal(asked.status, 202)
  await fetch(`${url}/api/auth/name`, { headers: { traceparent: headers.traceparent } })

  const traced = () => linesOf(stack.output()).filter(({ trace_id }) => trace_id === TRACE)
  const job = await until(() => traced().find((line) => line.job === 'alerts.run_feed'), JOB_MS)
  assert.equal(job.logger, 'alerts')
  const requests = traced().filter(({ msg }) => msg === 'request')
  assert.deepEqual(
    requests.map(({ logger, route, status, reason }) => [logger, route, status, reason]),
    [
      ['gateway', `POST ${runFeedNow.url}`, 202, undefined],
      ['gateway', 'GET /api/auth/name', 401, 'token.invalid'],
    ],
  )
  const calls = traced().filter(({ call }) => call)
  assert.ok(
    calls.some(({ logger }) => logger === 'auth'),
    'auth was asked in the trace',
  )
  const others = linesOf(stack.output()).filter(
    ({ msg, trace_id }) => msg === 'request' && trace_id !== TRACE,
  )
  assert.equal(new Set(others.map(({ trace_id }) => trace_id)).size, others.length)
})

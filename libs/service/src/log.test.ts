import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { AppError } from './errors.ts'
import { createLog, type LogOptions } from './log.ts'

function captured(options: Partial<LogOptions> = {}) {
  const text: string[] = []
  const log = createLog('ops', {
    format: 'json',
    to: { write: (line: string) => void text.push(line) },
    ...options,
  })
  return { log, text, lines: () => text.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

test('a line has ts, level, logger, msg and what it adds, and nothing else', () => {
  const { log, lines } = captured()
  log.warn({ route: '/x', status: 403, org: 7, reason: 'not_officer' }, 'would_deny')
  const [{ ts, ...rest } = { ts: '' }] = lines()
  assert.equal(new Date(String(ts)).toISOString(), ts)
  assert.deepEqual(rest, {
    level: 'WARN',
    logger: 'ops',
    msg: 'would_deny',
    route: '/x',
    status: 403,
    org: 7,
    reason: 'not_officer',
  })
})

test('levels are written as text, and those below the lowest not at all', () => {
  const { log, lines } = captured({ level: 'warn' })
  log.debug('a')
  log.info('b')
  log.warn('c')
  log.error('d')
  log.fatal('e')
  assert.deepEqual(
    lines().map(({ level, msg }) => [level, msg]),
    [
      ['WARN', 'c'],
      ['ERROR', 'd'],
      ['FATAL', 'e'],
    ],
  )
})

test('errors are told of at levels that write none of them', () => {
  for (const level of ['fatal', 'silent']) {
    const told: string[] = []
    const { log, lines } = captured({ level, errors: { write: (line) => void told.push(line) } })
    log.warn('a')
    log.error('b')
    assert.deepEqual([lines(), told.length], [[], 1], level)
  }
})

test('no secret reaches a line, at the top or inside', () => {
  const { log, text } = captured()
  const secret = 'hunter2'
  const fields = { token: secret, password: secret, access_token: secret, refresh_token: secret }
  log.info(fields, 'top')
  log.info({ headers: { authorization: secret, cookie: secret } }, 'inside')
  log.info({ req: { body: { client_secret: secret, secret, code_verifier: secret } } }, 'deep')
  log.child({ token: secret }).info('bound')
  assert.equal(text.length, 4)
  assert.doesNotMatch(text.join(), /hunter2/)
})

test('an error is written with its code, its stack and its cause', () => {
  const { log, lines } = captured()
  const error = new AppError('upstream', 'calendar.failed', 'No answer', {
    cause: new Error('reset'),
  })
  log.error({ err: error }, 'Sync failed')
  const { err } = lines()[0] as { err: Record<string, string> }
  assert.deepEqual([err.code, err.kind], ['calendar.failed', 'upstream'])
  assert.match(String(err.stack), /log\.test\.ts[\s\S]*caused by: Error: reset/)
})

test('what clients and Postgres hang on an error stays out of a line', () => {
  const { log, text } = captured()
  const detail = 'Key (email)=(milo@example.org) already exists.'
  const request = { headers: { Authorization: 'Bearer hunter2' }, config: { api_key: 'hunter2' } }
  log.error(
    { err: Object.assign(new Error('refused'), { code: '23505', detail, ...request }) },
    'x',
  )
  assert.match(text.join(), /"code":"23505"/)
  assert.doesNotMatch(text.join(), /milo@example.org|hunter2/)
})

test('lines at error or above go to the errors too, and no others', () => {
  const errors: string[] = []
  const { log, text } = captured({ errors: { write: (line: string) => void errors.push(line) } })
  log.info('a')
  log.warn('b')
  log.error('c')
  log.fatal('d')
  assert.deepEqual([text.length, errors.length], [4, 2])
  assert.deepEqual(
    errors.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['c', 'd'],
  )
})

test('for a person a line is text that names level and logger', () => {
  const to = new PassThrough({ encoding: 'utf8' })
  createLog('ops', { format: 'text', to }).error({ org: 7 }, 'It broke')
  const text = to.read() as string
  assert.match(text, /ERROR.*ops: It broke/)
  assert.match(text, /"org":7/)
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  listOrgErrors,
  MOST_REPORTS_PER_MINUTE,
  reportError,
} from '@guildhall/contracts/error-groups'
import { testOps } from '../testing.ts'
import { stackWithoutQueries } from './rules.ts'

const org = { id: 1, prefix: 'chess', name: 'Chess', modules: [], publisher: false }
const params = { org: 'chess' }
const stack = `TypeError: x is undefined
    at render (https://dash.test/assets/app.js?v=7:12:34)
    at https://dash.test/assets/vendor.js:1:2`

async function setUp(t: TestContext) {
  const ops = await testOps(t)
  const person = { username: 'ada', token_id: 't', expires_at: 0 }
  const as = (chat_user_id: string) =>
    ops.as({ caller: { kind: 'officer', superadmin: false, ...person, chat_user_id }, org })
  const report = (body: Parameters<typeof send>[0]['body'], id = '12345') => send({ body, id })
  const send = ({ body, id }: { body: { message: string; [more: string]: string }; id: string }) =>
    as(id).call(reportError, { params, body })
  const list = async () => {
    const reply = await as('12345').call(listOrgErrors, { params, query: {} })
    assert.ok(reply.status === 200)
    return reply.body.errors
  }
  return { report, list }
}

test('a report of a browser is an error of the org, without what follows ? and # in addresses', async (t) => {
  const { report, list } = await setUp(t)
  const route = '/members/42?email=ada@example.org#top'
  const message = 'GET https://api.test/x?token=abc failed'
  const sent = { message, kind: 'TypeError', stack, route }
  assert.equal((await report(sent)).status, 202)
  assert.equal((await report(sent)).status, 202)
  const [group, ...others] = await list()
  assert.deepEqual(others, [])
  assert.deepEqual(
    [group?.service, group?.org, group?.kind, group?.count, group?.location, group?.route],
    ['dashboard', 1, 'TypeError', 2, '/assets/app.js:12', '/members/42'],
  )
  assert.equal(group?.message, 'GET https://api.test/x failed')
  assert.doesNotMatch(JSON.stringify(group), /example\.org|abc|v=7/)
})

test('nothing of an address after ? or # is kept, whatever stands in it, and nobody who signs in by it', async (t) => {
  const { report, list } = await setUp(t)
  const messages = {
    'GET https://app.example/x?at=12:30&token=SECRET failed': 'GET https://app.example/x failed',
    'open https://app.example/#state=a:SECRET': 'open https://app.example/',
    'read https://app.example/y?q=(a)&token=SECRET': 'read https://app.example/y',
    'fetch /api/auth/exchange?code=SECRET:12:34 failed': 'fetch /api/auth/exchange failed',
    'went to ?code=SECRET': 'went to ',
    'no answer of HTTPS://user:SECRET@h/z': 'no answer of HTTPS://h/z',
    'no answer of https://user:SE@CRET@h/z': 'no answer of https://h/z',
    'a?.b is undefined, error #31': 'a?.b is undefined, error #31',
  }
  for (const message of Object.keys(messages)) {
    const stack = `Error: ${message}\n    at f (https://a.test/b.js?v=(SECRET):12:34)`
    assert.equal((await report({ message, stack })).status, 202)
  }
  const groups = await list()
  assert.deepEqual(groups.map(({ message }) => message).sort(), Object.values(messages).sort())
  assert.doesNotMatch(JSON.stringify(groups), /SECRET|CRET@/)
  for (const { location } of groups) assert.equal(location, '/b.js:12')
})

test('a frame of any browser keeps its line and column without the query', () => {
  const stack = [
    'f@https://a.test/b.js?v=7:12:34',
    '    at https://a.test/b.js?v=7:1:2',
    '    at g (https://a.test/b.js:3:4)',
  ]
  assert.deepEqual(stackWithoutQueries(stack.join('\n')).split('\n'), [
    'f@https://a.test/b.js:12:34',
    '    at https://a.test/b.js:1:2',
    '    at g (https://a.test/b.js:3:4)',
  ])
})

test('a report that is empty or too long is refused', async (t) => {
  const { report, list } = await setUp(t)
  assert.equal((await report({ message: ' ' })).status, 400)
  assert.equal((await report({ message: 'x'.repeat(2_001) })).status, 400)
  assert.equal((await report({ message: 'x', stack: 'y'.repeat(8_001) })).status, 400)
  assert.equal((await report({ message: 'x'.repeat(40_000) })).status, 413)
  assert.deepEqual(await list(), [])
})

test('one person sends so many reports a minute, and holds up nobody else', async (t) => {
  const { report, list } = await setUp(t)
  for (let n = 0; n < MOST_REPORTS_PER_MINUTE; n++)
    assert.equal((await report({ message: 'again' })).status, 202)
  const refused = await report({ message: 'again' })
  assert.equal(refused.status, 429)
  assert.ok('code' in refused.body && refused.body.code === 'rate.exceeded')
  assert.equal((await report({ message: 'again' }, '77777')).status, 202)
  assert.equal((await list())[0]?.count, MOST_REPORTS_PER_MINUTE + 1)
})

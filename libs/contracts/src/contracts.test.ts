import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as agentConversations from './agent-conversations.ts'
import * as agentMemories from './agent-memories.ts'
import * as agentPending from './agent-pending.ts'
import * as agentProfile from './agent-profile.ts'
import * as agentSelf from './agent-self.ts'
import * as agentTurns from './agent-turns.ts'
import * as alerts from './alerts.ts'
import * as appTokens from './app-tokens.ts'
import * as auth from './auth.ts'
import { subjectOfCall } from './call.ts'
import { fits, machine, officer } from './caller.ts'
import { calls, jobs } from './calls.ts'
import * as cliTokens from './cli-tokens.ts'
import { pathOf } from './client.ts'
import * as compute from './compute.ts'
import * as connect from './connect.ts'
import { type AuditAction, actorOf } from './event.ts'
import * as eventPosts from './event-posts.ts'
import * as integrations from './integrations.ts'
import { deadSubjectOfJob, durableOfJob, ownerOfJob, subjectOfJob } from './job.ts'
import * as knowledge from './knowledge.ts'
import * as mcp from './mcp.ts'
import * as members from './members.ts'
import { peers, services } from './names.ts'
import { openApi } from './openapi.ts'
import * as ops from './ops.ts'
import * as orgs from './orgs.ts'
import * as packs from './packs.ts'
import * as podFiles from './pod-files.ts'
import * as podSessions from './pod-sessions.ts'
import * as pointImports from './point-imports.ts'
import * as points from './points.ts'
import { routes } from './routes.ts'
import * as secrets from './secrets.ts'
import * as storeMembers from './store-members.ts'
import * as storeOrders from './store-orders.ts'
import * as storeProducts from './store-products.ts'
import * as superadmin from './superadmin.ts'
import * as tokens from './tokens.ts'

const domains = [
  agentConversations,
  agentMemories,
  agentPending,
  agentProfile,
  agentSelf,
  agentTurns,
  alerts,
  appTokens,
  auth,
  cliTokens,
  compute,
  connect,
  podFiles,
  podSessions,
  points,
  pointImports,
  storeMembers,
  storeOrders,
  storeProducts,
  eventPosts,
  integrations,
  knowledge,
  mcp,
  members,
  ops,
  orgs,
  packs,
  secrets,
  superadmin,
  tokens,
]
const exported = domains.flatMap((domain) => Object.values<unknown>(domain))
const audited = [...exported, ...services.map(ops.jobStarted)].filter(
  (value): value is AuditAction =>
    typeof value === 'object' && value !== null && 'action' in value && 'details' in value,
)
const document = openApi('test')
type Operation = {
  operationId: string
  parameters: { name: string; in: string; required: boolean }[]
  responses: Record<string, unknown>
  security: object[]
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method,
    operation: operation as Operation,
  })),
)

test('every route has an owner that is a service, and its own method and path', () => {
  const seen = new Set<string>()
  for (const { name, route } of routes) {
    assert.ok(services.includes(route.owner), name)
    const place = `${route.method} ${route.url.replace(/:\w+/g, ':')}`
    assert.ok(!seen.has(place), `${place} stands twice`)
    seen.add(place)
  }
  assert.ok(routes.length > 20)
})

test('the parameters of a route are those that its URL names', () => {
  for (const { name, route } of routes) {
    const inUrl = [...route.url.matchAll(/[:*](\w+)/g)].map(([, one]) => one)
    assert.deepEqual(Object.keys(route.params?.shape ?? {}).sort(), inUrl.sort(), name)
  }
})

test('scopes that routes ask for are scopes that a token may hold', () => {
  for (const { name, route } of routes) {
    const { scope } = route.caller as { scope?: string }
    if (scope) assert.ok(scope in tokens.scopes, `${name}: ${scope}`)
  }
})

test('names of routes, calls, jobs and audit actions are unique', () => {
  for (const names of [
    routes.map(({ name }) => name),
    calls.map(subjectOfCall),
    jobs.map(({ name }) => name),
    audited.map(({ action }) => action),
  ]) {
    assert.deepEqual([...new Set(names)], names)
    assert.ok(names.length > 0)
  }
})

test('every call is of a service and has callers that are peers, never the service itself', () => {
  for (const call of calls) {
    assert.ok(services.includes(call.service) && call.callers.length > 0, call.name)
    for (const caller of call.callers) {
      assert.ok(peers.includes(caller) && caller !== call.service, call.name)
    }
    assert.match(subjectOfCall(call), /^rpc\.[a-z]+\.[a-z_]+$/)
  }
})

test('every job has an owner that is a service, and a scheduled one needs no arguments', () => {
  for (const job of jobs) {
    assert.ok(services.includes(ownerOfJob(job)), job.name)
    assert.match(job.name, /^[a-z]+\.[a-z_]+$/)
    if (job.cron) assert.deepEqual(job.args.parse({}), {}, job.name)
  }
  for (const service of services) assert.ok(jobs.some(({ name }) => name === `${service}.prune`))
})

test('a job that is named after a module runs, and is buried, at its owner', () => {
  const job = pointImports.importEventCsv
  assert.equal(job.name, 'points.import_event_csv')
  assert.deepEqual(
    [subjectOfJob(job), deadSubjectOfJob(job), durableOfJob(job)],
    ['jobs.store.import_event_csv', 'dead.store.import_event_csv', 'store-import_event_csv'],
  )
})

test('every audit action begins with its service and says what happened', () => {
  for (const { action } of audited) {
    const [service, thing, ...did] = action.split('.')
    assert.ok(
      services.some((name) => name === service),
      action,
    )
    assert.match(`${thing}`, /^[a-z_]+$/)
    assert.match(did.join('.'), /^[a-z_]*(ed|en|in|out|made|sent|begun)$/, action)
  }
})

test('the OpenAPI document has every route once, under its name', () => {
  const expected = routes.map(({ name, route }) => [
    name,
    route.method.toLowerCase(),
    route.url.replace(/[:*](\w+)/g, '{$1}'),
  ])
  const written = operations.map(({ path, method, operation }) => [
    operation.operationId,
    method,
    path,
  ])
  assert.deepEqual(written.sort(), expected.sort())
})

test('every operation has all its parameters, its statuses and what a refusal looks like', () => {
  for (const { name, route } of routes) {
    const found = operations.find(({ operation }) => operation.operationId === name)?.operation
    const names = found?.parameters.map((parameter) => parameter.name)
    const shapes = [
      ...Object.keys(route.params?.shape ?? {}),
      ...Object.keys(route.query?.shape ?? {}),
      ...(route.idempotent ? ['Idempotency-Key'] : []),
    ]
    assert.deepEqual(names, shapes, name)
    assert.ok(
      found?.parameters.every((one) => one.in !== 'path' || one.required),
      name,
    )
    const statuses = [...Object.keys(route.reply), 'default']
    assert.deepEqual(Object.keys(found?.responses ?? {}), statuses, name)
  }
})

test('every reference of the document leads somewhere', () => {
  const text = JSON.stringify(document)
  const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to ?? '')
  assert.ok(references.length > 10)
  const known = Object.keys(document.components.schemas).map((id) => `#/components/schemas/${id}`)
  assert.deepEqual(
    references.filter((to) => !known.includes(to)),
    [],
  )
  assert.doesNotMatch(text, /\$defs|\$schema/)
})

test('a public route asks for no credential and every other for one', () => {
  for (const { name, route } of routes) {
    const found = operations.find(({ operation }) => operation.operationId === name)?.operation
    const open = found?.security.some((one) => Object.keys(one).length === 0)
    assert.equal(open, (route.caller.accepts as readonly string[]).includes('public'), name)
  }
})

test('a path escapes its parameters, and only slashes of a rest stay', () => {
  const { getSource, listSources } = knowledge
  const path = (key: string) => pathOf(getSource, { params: { key } })
  assert.equal(path('a/b c?d#e%'), '/api/knowledge/sources/a/b%20c%3Fd%23e%25')
  const { getOrg } = orgs
  assert.equal(pathOf(getOrg, { params: { org_id: 'a/b' } }), '/api/organizations/a%2Fb')
  const query = { category: 'a&b=ü', limit: 5, cursor: undefined }
  assert.equal(
    pathOf(listSources, { query }),
    '/api/knowledge/sources?category=a%26b%3D%C3%BC&limit=5',
  )
  assert.equal(
    pathOf(listSources, { query: { category: ['a', 'b'] } }),
    '/api/knowledge/sources?category=a&category=b',
  )
  assert.equal(pathOf(listSources, { query: {} }), '/api/knowledge/sources')
})

test('a caller fits by its kind, and a machine by its scope and kind of token too', () => {
  const token = { kind: 'machine', token_id: 't', token_kind: 'app', name: 'n' } as const
  const reader = { ...token, scopes: ['knowledge:read'] }
  assert.ok(fits(reader, machine('knowledge:read')))
  assert.ok(!fits(reader, machine('knowledge:write')))
  assert.ok(!fits(reader, officer))
  assert.ok(!fits(reader, { ...machine('knowledge:read'), token_kind: 'agent' }))
  assert.ok(!fits({ kind: 'public' }, machine('knowledge:read')))
})

test('an audit line names who acted, and the superadmin as that', () => {
  const person = { chat_user_id: '12345', username: 'ada', token_id: 't', expires_at: 0 }
  const kinds = [
    actorOf({ kind: 'public' }),
    actorOf({ kind: 'platform', ...person }),
    actorOf({ kind: 'officer', superadmin: false, ...person }),
    actorOf({ kind: 'officer', superadmin: true, ...person }),
    actorOf({ kind: 'superadmin', ...person }),
    actorOf({ kind: 'machine', token_id: 't', token_kind: 'app', name: 'n', scopes: [] }),
    actorOf({ kind: 'cli', chat_user_id: '12345', username: 'ada', token_id: 't' }),
  ]
  assert.deepEqual(
    kinds.map(({ actor_kind, actor_id }) => `${actor_kind} ${actor_id}`),
    [
      'system null',
      'officer 12345',
      'officer 12345',
      'superadmin 12345',
      'superadmin 12345',
      'machine t',
      'member 12345',
    ],
  )
})

test('the longest answer of secrets fits a message', () => {
  const longest = '\u0001'.repeat(16 * 1024)
  assert.ok(secrets.SecretValue.safeParse(longest).success)
  const { args } = secrets.findSecrets('knowledge')
  const names = Array.from(
    { length: secrets.MOST_SECRETS_ASKED },
    (_, n) => `${'n'.repeat(99)}${n}`,
  )
  assert.ok(args.safeParse({ org_id: 1, names: names.map((name) => name.slice(0, 100)) }).success)
  assert.ok(!args.safeParse({ org_id: 1, names: [...names, 'one more'] }).success)
  const answer = { secrets: Object.fromEntries(names.map((name) => [name, longest])) }
  assert.ok(JSON.stringify(answer).length < 1024 * 1024 - 1024, 'with room for the envelope')
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import { REVOKED_BUCKET } from '@guildhall/contracts/auth'
import { subjectOfCall } from '@guildhall/contracts/call'
import { calls, jobs } from '@guildhall/contracts/calls'
import { changed } from '@guildhall/contracts/event'
import { deadSubjectOfJob, durableOfJob, ownerOfJob, subjectOfJob } from '@guildhall/contracts/job'
import { type Peer, peers, services } from '@guildhall/contracts/names'
import { cleanUp } from '@guildhall/service/testing'
import { PermissionViolationError } from '@nats-io/nats-core'
import { connect } from '@nats-io/transport-node'
import { ensureStreams, REVOKED_STREAM, streams } from './streams.ts'
import { busAs, TEST_INTERNAL_KEY, testBroker } from './testing.ts'
import { inboxPrefix, natsPassword, natsUsers } from './users.ts'

/** What peers may do, said again from the contracts and not from users.ts. */
type Rule = [subject: string, allowed: (peer: Peer) => boolean]
const nobody = () => false
const everybody = () => true
const only =
  (...names: string[]) =>
  (peer: Peer) =>
    names.includes(peer)

const consumers = [
  ...jobs.map((job) => ({
    stream: 'JOBS',
    durable: durableOfJob(job),
    filter: subjectOfJob(job),
    owner: ownerOfJob(job),
  })),
  { stream: 'AUDIT', durable: 'ops-audit', filter: 'audit.*', owner: 'ops' },
  { stream: 'ERRORS', durable: 'ops-errors', filter: 'errors.*', owner: 'ops' },
]

const publishing: Rule[] = [
  ...calls.map((call): Rule => [subjectOfCall(call), only(...call.callers)]),
  ...services.map((service): Rule => [`rpc.${service}.unheard_of`, nobody]),
  ...jobs.map((job): Rule => [subjectOfJob(job), only(ownerOfJob(job), 'ops')]),
  ...jobs.map((job): Rule => [deadSubjectOfJob(job), only(ownerOfJob(job))]),
  ...services.map((service): Rule => [`audit.${service}`, only(service)]),
  ['audit.gateway', nobody],
  ['audit.operator', nobody],
  ...peers.map((peer): Rule => [`errors.${peer}`, only(peer)]),
  ...Object.values(changed).map(({ thing, by }): Rule => [`changed.${thing}.1`, only(by)]),
  ['changed.anything.1', nobody],
  ...peers.map((peer): Rule => [`${inboxPrefix(peer)}.abc.1`, nobody]),
  ...consumers.flatMap(({ stream, durable, filter, owner }): Rule[] => [
    [`$JS.API.CONSUMER.CREATE.${stream}.${durable}.${filter}`, only(owner)],
    [`$JS.API.CONSUMER.INFO.${stream}.${durable}`, only(owner)],
    [`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, only(owner)],
    [`$JS.ACK.${stream}.${durable}.1.2.3.4.5`, only(owner)],
    [`$JS.API.CONSUMER.CREATE.${stream}.${durable}`, nobody],
    [`$JS.API.CONSUMER.CREATE.${stream}.${durable}.${stream.toLowerCase()}.x.y`, nobody],
    [`$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${durable}`, nobody],
    [`$JS.API.CONSUMER.DELETE.${stream}.${durable}`, nobody],
    [`$JS.API.CONSUMER.PAUSE.${stream}.${durable}`, nobody],
  ]),
  ...Object.keys(streams).flatMap((name): Rule[] => [
    [`$JS.API.STREAM.CREATE.${name}`, only('ops')],
    [`$JS.API.STREAM.UPDATE.${name}`, only('ops')],
    [`$JS.API.CONSUMER.CREATE.${name}`, nobody],
  ]),
  [`$JS.API.STREAM.CREATE.${REVOKED_STREAM}`, only('auth')],
  [`$JS.API.STREAM.UPDATE.${REVOKED_STREAM}`, only('auth')],
  ['$JS.API.STREAM.CREATE.ELSE', nobody],
  ['$JS.API.STREAM.UPDATE.ELSE', nobody],
  ...[...Object.keys(streams), REVOKED_STREAM].flatMap((name): Rule[] => [
    [`$JS.API.STREAM.INFO.${name}`, everybody],
    [`$JS.API.STREAM.DELETE.${name}`, nobody],
    [`$JS.API.STREAM.PURGE.${name}`, nobody],
    [`$JS.API.STREAM.MSG.GET.${name}`, nobody],
    [`$JS.API.STREAM.MSG.DELETE.${name}`, nobody],
    [`$JS.API.STREAM.SNAPSHOT.${name}`, nobody],
    [`$JS.API.STREAM.RESTORE.${name}`, nobody],
  ]),
  [`$KV.${REVOKED_BUCKET}.jti`, only('auth')],
  ['$KV.other.key', nobody],
  [`$JS.API.DIRECT.GET.${REVOKED_STREAM}.$KV.${REVOKED_BUCKET}.jti`, only('auth', 'gateway')],
  [`$JS.API.CONSUMER.CREATE.${REVOKED_STREAM}.x.$KV.${REVOKED_BUCKET}.>`, only('auth', 'gateway')],
  ['$JS.API.DIRECT.GET.AUDIT.audit.auth', nobody],
  ['$JS.API.STREAM.NAMES', nobody],
  ['$JS.API.STREAM.LIST', nobody],
  ['$JS.API.INFO', everybody],
  ['$SYS.REQ.SERVER.PING', nobody],
  ['$SYS.REQ.ACCOUNT.$G.CONNZ', nobody],
  ['anything', nobody],
]

const subscribing: Rule[] = [
  ...services.map((service): Rule => [`rpc.${service}.*`, only(service)]),
  ...calls.map((call): Rule => [subjectOfCall(call), only(call.service)]),
  ...peers.map((peer): Rule => [`${inboxPrefix(peer)}.>`, only(peer)]),
  ['changed.>', everybody],
  ['changed.org.*', everybody],
  ...['_INBOX.>', '>', '*', 'rpc.>', 'rpc.*.*', 'jobs.>', 'dead.>', 'audit.*', 'errors.*'].map(
    (subject): Rule => [subject, nobody],
  ),
  ...['$KV.>', '$JS.>', '$JS.API.>', '$JS.EVENT.>', '$SYS.>', `_INBOX_*.>`].map(
    (subject): Rule => [subject, nobody],
  ),
]

/** A connection as `peer` that tells which of some subjects the server refuses. */
async function prober(t: TestContext, url: string, peer: Peer) {
  const nats = await connect({
    servers: new URL(url).host,
    user: peer,
    pass: natsPassword(TEST_INTERNAL_KEY, peer),
    inboxPrefix: inboxPrefix(peer),
  })
  cleanUp(t, () => nats.close())
  const refused = new Set<string>()
  void (async () => {
    for await (const status of nats.status()) {
      if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue
      refused.add(`${status.error.operation} ${status.error.subject}`)
    }
  })()
  /** The server answers the ping of a flush after every refusal before it; the status comes a turn later. */
  const refusedOf = async (operation: 'publish' | 'subscription', subjects: string[]) => {
    for (const subject of subjects) {
      if (operation === 'publish') nats.publish(subject, '{}')
      else nats.subscribe(subject, { callback: () => {} })
    }
    await nats.flush()
    await settled()
    return subjects.filter((subject) => refused.has(`${operation} ${subject}`))
  }
  return refusedOf
}

for (const peer of peers) {
  const refusedBy = (rules: Rule[]) =>
    rules.filter(([, allowed]) => !allowed(peer)).map(([subject]) => subject)

  test(`${peer} publishes what the contracts give it and nothing else`, async (t) => {
    const refused = await prober(t, (await testBroker(t)).url, peer)
    const said = await refused(
      'publish',
      publishing.map(([subject]) => subject),
    )
    assert.deepEqual(said, refusedBy(publishing))
  })

  test(`${peer} hears what the contracts give it and nothing else`, async (t) => {
    const refused = await prober(t, (await testBroker(t)).url, peer)
    const said = await refused(
      'subscription',
      subscribing.map(([subject]) => subject),
    )
    assert.deepEqual(said, refusedBy(subscribing))
  })
}

test('nobody comes in without a password or with that of another', async (t) => {
  const { url } = await testBroker(t)
  const servers = new URL(url).host
  const pass = natsPassword(TEST_INTERNAL_KEY, 'ops')
  for (const credentials of [{}, { user: 'auth', pass }, { user: 'auth', pass: '' }]) {
    await assert.rejects(connect({ servers, ...credentials, reconnect: false }), /Authorization/)
  }
  const passwords = natsUsers(TEST_INTERNAL_KEY).map(({ password }) => password)
  assert.equal(new Set(passwords).size, peers.length)
})

test("a service cannot read another's jobs through a consumer of its own name", async (t) => {
  const { url } = await testBroker(t)
  const ops = await busAs(t, { url, peer: 'ops' })
  await ensureStreams(ops.jsm)
  const auth = await busAs(t, { url, peer: 'auth' })
  const config = {
    durable_name: 'auth-prune',
    filter_subject: 'jobs.ops.prune',
    ack_policy: 'explicit',
  }
  const asked = await auth.nats.request(
    '$JS.API.CONSUMER.CREATE.JOBS.auth-prune.jobs.auth.prune',
    JSON.stringify({ stream_name: 'JOBS', config, action: '' }),
  )
  assert.equal(asked.json<{ error?: { code: number } }>().error?.code, 400)
})

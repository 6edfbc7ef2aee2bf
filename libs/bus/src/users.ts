import { REVOKED_BUCKET } from '@guildhall/contracts/auth'
import { subjectOfCall } from '@guildhall/contracts/call'
import { calls, jobs } from '@guildhall/contracts/calls'
import { auditSubject, changed, errorSubject } from '@guildhall/contracts/event'
import { durableOfJob, ownerOfJob, subjectOfJob } from '@guildhall/contracts/job'
import { type Peer, peers, type Service, services } from '@guildhall/contracts/names'
import { derived } from '@guildhall/service/internal-key'
import { streams } from './streams.ts'

/** What a NATS user may do: subjects with wildcards; an empty list allows none. */
export interface Permissions {
  publish: readonly string[]
  subscribe: readonly string[]
  /** May answer a request that it received, on the inbox named there. */
  allowResponses: boolean
}

export interface NatsUser {
  user: string
  password: string
  permissions: Permissions
}

/** The NATS password of a peer. */
export const natsPassword = (internalKey: string, peer: Peer) =>
  derived(internalKey, peer, 'nats', 24).toString('base64url')

/** One NATS user for each peer, with exactly the walls that the contracts draw. */
export function natsUsers(internalKey: string): NatsUser[] {
  return peers.map((peer) => ({
    user: peer,
    password: natsPassword(internalKey, peer),
    permissions: permissionsOf(peer),
  }))
}

/** Everything under which a peer's requests are answered. */
export const inboxPrefix = (peer: Peer) => `_INBOX_${peer}`

function permissionsOf(peer: Peer): Permissions {
  const service = services.find((name) => name === peer)
  const callable = calls.filter(({ callers }) => callers.includes(peer)).map(subjectOfCall)
  return {
    publish: [
      ...callable,
      errorSubject(peer),
      '$JS.API.INFO',
      '$JS.API.STREAM.INFO.*',
      ...(service ? serviceSubjects(service) : []),
      ...(peer === 'ops' ? opsSubjects() : []),
      ...(peer === 'auth' ? bucketWriter(REVOKED_BUCKET) : []),
      ...(peer === 'gateway' ? bucketReader(REVOKED_BUCKET) : []),
    ],
    subscribe: [`${inboxPrefix(peer)}.>`, 'changed.>', ...(service ? [`rpc.${service}.*`] : [])],
    allowResponses: service !== undefined,
  }
}

/** What every service may do with its own jobs and events. */
function serviceSubjects(service: Service) {
  const own = jobs.filter((job) => ownerOfJob(job) === service)
  return [
    `jobs.${service}.*`,
    `dead.${service}.*`,
    auditSubject(service),
    ...Object.values(changed).flatMap(({ thing, by }) =>
      by === service ? [`changed.${thing}.*`] : [],
    ),
    ...own.flatMap((job) => consumerSubjects('JOBS', durableOfJob(job), subjectOfJob(job))),
  ]
}

/** ops starts everybody's scheduled jobs, keeps the streams and stores their events. */
function opsSubjects() {
  return [
    'jobs.*.*',
    ...Object.keys(streams).flatMap((name) => [
      `$JS.API.STREAM.CREATE.${name}`,
      `$JS.API.STREAM.UPDATE.${name}`,
    ]),
    ...consumerSubjects('AUDIT', 'ops-audit', 'audit.*'),
    ...consumerSubjects('ERRORS', 'ops-errors', 'errors.*'),
  ]
}

/** Making and working one durable consumer, and no other. */
function consumerSubjects(stream: string, durable: string, filter: string) {
  return [
    `$JS.API.CONSUMER.CREATE.${stream}.${durable}.${filter}`,
    `$JS.API.CONSUMER.INFO.${stream}.${durable}`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`,
    `$JS.ACK.${stream}.${durable}.>`,
  ]
}

function bucketWriter(bucket: string) {
  return [
    `$KV.${bucket}.>`,
    `$JS.API.STREAM.CREATE.KV_${bucket}`,
    `$JS.API.STREAM.UPDATE.KV_${bucket}`,
    ...bucketReader(bucket),
  ]
}

function bucketReader(bucket: string) {
  return [
    `$JS.API.CONSUMER.CREATE.KV_${bucket}.>`,
    `$JS.API.CONSUMER.DELETE.KV_${bucket}.>`,
    `$JS.API.CONSUMER.INFO.KV_${bucket}.>`,
    `$JS.API.CONSUMER.MSG.NEXT.KV_${bucket}.>`,
    `$JS.API.DIRECT.GET.KV_${bucket}.>`,
    '$JS.FC.>',
  ]
}

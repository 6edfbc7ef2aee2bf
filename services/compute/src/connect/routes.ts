import { ask } from '@guildhall/bus/calls'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { connectToPod, listMyPods, memberConnected } from '@guildhall/contracts/connect'
import { findMembership } from '@guildhall/contracts/members'
import type { App } from '@guildhall/service/app'
import { issueCertificate } from '../certificates/issue.ts'
import { parsePublicKey } from '../certificates/public-key.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import type { SshAddress } from '../host-keys/pin.ts'
import { openKey } from '../keys/keys.ts'
import { noPod, podById, podsOfMember } from '../pods/queries.ts'
import { DEGRADED, PODHOST } from '../pods/routes.ts'
import { runningPod } from '../pods/running.ts'
import { liveOf } from '../pods/shown.ts'
import { userFolder } from './folders.ts'

const SSH_PORT = 22

export function connectRoutes(app: App, deps: Deps) {
  const { db, bus, live, hostKeys, now } = deps

  app.implement(listMyPods, async ({ org, caller }, reply) => {
    const rows = await podsOfMember(db, org.id, caller.chat_user_id)
    const seen = rows.length > 0 ? await live.recentOrUnknown(org.id) : new Map()
    if (!seen) reply.header(DEGRADED, PODHOST)
    const pods = rows.flatMap((row) => {
      const { status, host, port } = liveOf(row, seen)
      const { pod_id, name } = row
      return ['RUNNING', 'UNKNOWN'].includes(status)
        ? [{ pod_id, id: pod_id, name, status, host, port }]
        : []
    })
    return reply.code(200).send({ pods })
  })

  app.implement(connectToPod, async ({ org, params: { pod_id }, body, caller }) => {
    const key = parsePublicKey(body.public_key)
    const { chat_user_id } = caller
    const row = await podById(db, org.id, pod_id)
    const { officer: is_admin } = await ask(bus, findMembership, { org_id: org.id, chat_user_id })
    if (!is_admin && !isShared(row, chat_user_id)) throw noPod(pod_id)
    const { pod, address } = await runningPod(deps, row)
    const hostKey = await hostKeys.pinned(row, pod, address)
    const folder = await userFolder(db, org.id, caller)
    const ca = await openKey(deps, org.id, 'user_ca')
    const wanted = { org_id: org.id, pod_id, chat_user_id, folder, is_admin, key, ca, now: now() }
    const { certificate } = await db.transaction().execute(async (trx) => {
      const issued = await issueCertificate(trx, wanted)
      const { serial, key_id } = issued
      const said = { pod_id, name: row.name, serial, key_id, is_admin }
      await enqueue(trx, audit(memberConnected, caller, org, said))
      return issued
    })
    const known_hosts = hostKey && knownHost(address, hostKey)
    return { ...address, username: 'root', user_folder: folder, is_admin, certificate, known_hosts }
  })
}

/** Officers may everywhere; a member where the pod is public or lists them. */
const isShared = ({ is_public, allowed_users }: LivePod, chatUserId: string) =>
  is_public || allowed_users.includes(chatUserId)

/** A line of known_hosts (sshd(8)): other ports than 22 are written in brackets. */
const knownHost = ({ host, port }: SshAddress, key: string) =>
  `${port === SSH_PORT ? host : `[${host}]:${port}`} ${key}`

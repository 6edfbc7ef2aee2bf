import type { KeyObject } from 'node:crypto'
import type { Trx } from '../db.ts'
import { signCertificate } from './certificate.ts'
import type { PublicKey } from './public-key.ts'

/** How long a certificate counts, in seconds around its making (interface.md, Limits). */
const BEFORE_SECONDS = 5 * 60
const AFTER_SECONDS = 12 * 3_600
const LOGIN = '/usr/local/bin/compute-login'
const MEMBER_EXTENSIONS = ['permit-port-forwarding', 'permit-pty']
const OFFICER_EXTENSIONS = ['permit-agent-forwarding', ...MEMBER_EXTENSIONS]

interface Wanted {
  org_id: number
  pod_id: string
  chat_user_id: string
  folder: string
  /** An officer gets a root shell, a member their own account by way of compute-login. */
  is_admin: boolean
  key: PublicKey
  ca: KeyObject
  now: Date
}

/** Takes the next serial and signs a certificate with it; serials are never used again. */
export async function issueCertificate(trx: Trx, wanted: Wanted) {
  const { org_id, pod_id, chat_user_id, folder, is_admin, key, ca } = wanted
  const seconds = Math.floor(wanted.now.getTime() / 1000)
  const key_id = `chat:${chat_user_id}:${folder}`
  const valid_after = seconds - BEFORE_SECONDS
  const valid_before = seconds + AFTER_SECONDS
  const { serial } = await trx
    .insertInto('certificates')
    .values({
      org_id,
      pod_id,
      key_id,
      fingerprint: key.fingerprint,
      is_admin,
      valid_after: new Date(valid_after * 1000),
      valid_before: new Date(valid_before * 1000),
    })
    .returning('serial')
    .executeTakeFirstOrThrow()
  const fields = {
    serial,
    key_id,
    principals: [`cp-${pod_id}`],
    valid_after,
    valid_before,
    critical: is_admin ? ({} as Record<string, string>) : { 'force-command': `${LOGIN} ${folder}` },
    extensions: is_admin ? OFFICER_EXTENSIONS : MEMBER_EXTENSIONS,
  }
  return { serial, key_id, certificate: signCertificate(key, fields, ca) }
}

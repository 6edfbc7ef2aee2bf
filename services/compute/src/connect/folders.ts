import { hash } from 'node:crypto'
import type { Db } from '../db.ts'

/** As compute-login on the pod has it: `^[a-z][a-z0-9._-]{0,21}$`. */
const MOST_CHARS = 22
/** Where a username has no letter to begin with. */
const NAMELESS = 'user'
/** Accounts that an image may have of its own. */
const SYSTEM = new Set(
  `root daemon bin sys sync games man lp mail news uucp proxy backup list irc gnats nobody www-data
  systemd-network systemd-resolve systemd-timesync systemd-coredump messagebus sshd polkitd syslog tss
  uuidd tcpdump landscape pollinate fwupd-refresh avahi dnsmasq rtkit usbmux cups postfix dovecot ftp
  admin adm sudo wheel operator halt shutdown ubuntu debian runpod jupyter jovyan compute user
  postgres mysql redis mongodb nginx apache docker git nfsnobody dbus chrony`
    .trim()
    .split(/\s+/),
)

/** Names to try for a chat username, from the nicest to one that nobody else can have. */
export function* folderNames(username: string, chatUserId: string): Generator<string> {
  const name = username
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '')
    .replace(/^[^a-z]+/, '')
    .slice(0, MOST_CHARS)
  if (name && !SYSTEM.has(name)) yield name
  const digits = hash('sha256', chatUserId, 'hex')
  for (let length = 2; length <= MOST_CHARS - 3; length++) {
    const head = (name || NAMELESS).slice(0, MOST_CHARS - 1 - length)
    yield `${head}-${digits.slice(0, length)}`
  }
}

/** The member's folder in an org: given at the first asking, kept for good, and nobody else's. */
export async function userFolder(
  db: Db,
  org_id: number,
  { chat_user_id, username }: { chat_user_id: string; username: string },
): Promise<string> {
  const own = await folderOf(db, org_id, chat_user_id)
  if (own) return own
  for (const folder of folderNames(username, chat_user_id)) {
    await db
      .insertInto('user_folders')
      .values({ org_id, chat_user_id, folder })
      .onConflict((on) => on.doNothing())
      .execute()
    // also where a second request of the same member was faster
    const given = await folderOf(db, org_id, chat_user_id)
    if (given) return given
  }
  throw new Error(`No folder is left for ${chat_user_id}`)
}

async function folderOf(db: Db, orgId: number, chatUserId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('user_folders')
    .select('folder')
    .where('org_id', '=', orgId)
    .where('chat_user_id', '=', chatUserId)
    .executeTakeFirst()
  return row?.folder
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs, testBroker } from '@guildhall/bus/testing'
import { type AccessReason, decideAccess, isSuperadmin } from '@guildhall/contracts/auth'
import { listAudit } from '@guildhall/contracts/ops'
import { getModules } from '@guildhall/contracts/orgs'
import { createLog } from '@guildhall/service/log'
import { createAccessChecks } from './access-checks.ts'
import { createDirectory } from './directory.ts'

const org = { id: 1, prefix: 'demo', name: 'Demo', modules: [], publisher: false }
const person = { chat_user_id: '12345', type: undefined }

/** Access checks of both modes, an auth that denies for `reason`, and the log lines. */
async function setUp(t: Parameters<typeof testBroker>[0], reason: AccessReason) {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  answer(auth, decideAccess, async () => {
    const valid_until = new Date(Date.now() + 60_000).toISOString()
    return { allowed: false, reason, superadmin: false, valid_until }
  })
  answer(auth, isSuperadmin, async () => ({ superadmin: false }))
  await auth.nats.flush()
  const directory = createDirectory(await busAs(t, { url: nats.url, peer: 'gateway' }))
  const lines: string[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line).msg) }
  const log = createLog('gateway', { format: 'json', to })
  const checks = (enforce: boolean) => createAccessChecks({ directory, enforce, log })
  return { enforced: checks(true), reported: checks(false), lines }
}

const LINE = 'reason=not_org_officer route=GET /api/organizations/:org_id/modules org=demo'

test('a denied officer is refused in enforce mode and let through in report mode, each with its line', async (t) => {
  const { enforced, reported, lines } = await setUp(t, 'not_org_officer')
  const denied = { kind: 'forbidden', code: 'access.not_org_officer' }
  await assert.rejects(enforced.checkOfficer(getModules, person, org), denied)
  assert.equal(await reported.checkOfficer(getModules, person, org), false)
  assert.deepEqual(lines, [
    `access decision=deny ${LINE} credential=platform:12345`,
    `access decision=would_deny ${LINE} credential=platform:12345`,
  ])
})

test('a chat platform that is away is 503 in enforce mode', async (t) => {
  const { enforced, reported, lines } = await setUp(t, 'bot_unavailable')
  const away = { kind: 'unavailable', code: 'access.bot_unavailable' }
  await assert.rejects(enforced.checkOfficer(getModules, person, org), away)
  assert.equal(await reported.checkOfficer(getModules, person, org), false)
  assert.match(lines.join('\n'), /decision=deny reason=bot_unavailable/)
  assert.match(lines.join('\n'), /decision=would_deny reason=bot_unavailable/)
})

test('the superadmin check and a missing credential know no report mode', async (t) => {
  const { reported, lines } = await setUp(t, 'not_org_officer')
  const denied = { kind: 'forbidden', code: 'access.not_superadmin' }
  await assert.rejects(reported.checkSuperadmin(listAudit, person), denied)
  reported.noteNoCredential(getModules, org)
  assert.deepEqual(lines, [
    'access decision=deny reason=not_superadmin route=GET /api/superadmin/audit org=- credential=platform:12345',
    'access decision=deny reason=no_platform_credential route=GET /api/organizations/:org_id/modules org=demo credential=none',
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listIntegrations } from '@guildhall/contracts/integrations'
import { listSecrets } from '@guildhall/contracts/secrets'
import { listMachineTokens } from '@guildhall/contracts/tokens'
import { sql } from 'kysely'
import { officer, testAuth } from '../testing.ts'

test('who lists secrets, integrations and tokens reads no sealed value', async (t) => {
  const { as, org, db } = await testAuth(t)
  await sql`revoke select on secrets from current_user`.execute(db)
  const shown = sql`org_id, name, updated_at, updated_by`
  await sql`grant select (${shown}) on secrets to current_user`.execute(db)
  await assert.rejects(db.selectFrom('secrets').select('sealed_value').execute())
  const client = as({ caller: officer(), org })
  const params = { org_id: String(org.id) }
  const replies = [
    await client.call(listSecrets, { params }),
    await client.call(listMachineTokens, { params }),
    await client.call(listIntegrations, { params: { org: org.prefix } }),
  ]
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 200],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAlerts } from '../testing.ts'

const SOON = new Date(Date.now() + 10 * 86_400_000).toISOString()
const event = (name: string) => ({ name, website: 'https://hack.test', start: SOON, end: SOON })

test('names that are the same once they are stored are one hackathon, and hold up no other', async (t) => {
  const alerts = await testAlerts(t)
  const names = ['Hack', 'Hack\u0000', '\u0000', 'Half \ud800', 'Half \ufffd', 'Other']
  alerts.world.hackathons = { hackclub: names.map(event) }
  const config = { sources: ['hackclub'] }
  const { webhook_url } = alerts
  const made = await alerts.put({ kind: 'hackathons', webhook_url, config })
  assert.equal(made.status, 201)
  const { result } = await alerts.run({ post_existing: true })
  assert.deepEqual(result, { outcome: 'ran', found: 3, new: 3, posted: 3, error: null })
})

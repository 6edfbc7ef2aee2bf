import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testSandbox } from '../testing.ts'

test('each account answers to its own key alone', async (t) => {
  const { world, podhostUrl, codeHostUrl, notesUrl } = await testSandbox(t)
  const urls = {
    podhost: `${podhostUrl}/pods`,
    codeHost: `${codeHostUrl}/user`,
    notes: `${notesUrl}/v1/users/me`,
  }
  for (const [name, url] of Object.entries(urls)) {
    const statuses = Object.values(world.keys).map(async (key) => {
      const reply = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
      return reply.status
    })
    const accepted = Object.keys(world.keys).map((key) => (key === name ? 200 : 401))
    assert.deepEqual(await Promise.all(statuses), accepted)
    assert.equal((await fetch(url)).status, 401)
  }
})

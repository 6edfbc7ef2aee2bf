import assert from 'node:assert/strict'
import { test } from 'node:test'
import { people, servers } from '../demo.ts'
import { testSandbox } from '../testing.ts'

test('a typed command is refused where it is none, and where no bot is connected', async (t) => {
  const { url } = await testSandbox(t)
  const headers = { 'content-type': 'application/json' }
  const type = async (body: object) => {
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    const reply = await fetch(`${url}/chat/commands`, sent)
    return [reply.status, ((await reply.json()) as { error: string }).error]
  }
  const typed = { guildId: servers.demo.id, userId: people.member.id, name: 'points' }
  assert.equal((await type({ ...typed, userId: 'milo' }))[0], 400)
  assert.deepEqual(await type(typed), [503, 'No bot is connected'])
})

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { createChat } from './chat.ts'
import { createGuildLists } from './guild-lists.ts'
import { guildsOfBot, rolesOfGuild } from './guilds.ts'

const ID = '284402700000000001'
const ME = '/v10/users/@me'

/** A chat platform that answers each path with what `answers` has for it, else with `other`. */
async function platform(
  t: Parameters<typeof cleanUp>[0],
  { other, ...answers }: Record<string, unknown>,
) {
  const server = createServer((req, res) => {
    const path = req.url?.split('?')[0] ?? ''
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify(path in answers ? answers[path] : other))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  cleanUp(t, () => new Promise<void>((closed) => void server.close(() => closed())))
  const { port } = server.address() as AddressInfo
  const settings = { BOT_TOKEN: 'bot.token', CLIENT_ID: ID, CLIENT_SECRET: 'secret' }
  return createChat({ CHAT_API_URL: `http://127.0.0.1:${port}`, ...settings })
}

const unavailable = { kind: 'unavailable', code: 'chat.unavailable' }
const signIn = { code: 'x', verifier: 'x', redirectUri: 'http://127.0.0.1/', servers: true }

for (const other of [{}, [{}], null, 'text', [{ id: 5, user: 'x', roles: null }]]) {
  test(`where the chat platform answers ${JSON.stringify(other)} it is unavailable`, async (t) => {
    const chat = await platform(t, { other })
    const lists = createGuildLists(chat)
    await assert.rejects(chat.member(ID, ID), unavailable)
    await assert.rejects(chat.signedIn(signIn), unavailable)
    await assert.rejects(lists.members(ID), unavailable)
    await assert.rejects(lists.membersLike(ID, 'mi'), unavailable)
    await assert.rejects(lists.roles(ID), unavailable)
    await assert.rejects(rolesOfGuild(chat, ID), unavailable)
    await assert.rejects(guildsOfBot(chat, { before: undefined, limit: 10 }), unavailable)
  })
}

test('a sign-in whose user or servers are garbled is unavailable', async (t) => {
  const granted = { '/v10/oauth2/token': { access_token: 'granted' } }
  const user = { id: ID, username: 'milo' }
  for (const answers of [
    { [ME]: {}, [`${ME}/guilds`]: [] },
    { [ME]: user, [`${ME}/guilds`]: [{}] },
    { [ME]: user, [`${ME}/guilds`]: {} },
  ]) {
    const chat = await platform(t, { ...granted, ...answers })
    await assert.rejects(chat.signedIn(signIn), unavailable)
  }
  const chat = await platform(t, {
    ...granted,
    [ME]: user,
    [`${ME}/guilds`]: [{ id: ID, name: 'x' }],
  })
  assert.deepEqual(await chat.signedIn(signIn), { user, serverIds: [ID] })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { demoWorld, people, servers } from './demo.ts'
import { startSandbox } from './sandbox.ts'
import { quietLog, testSandbox } from './testing.ts'

test('a host that others could reach is refused', async () => {
  const options = { world: demoWorld(), redirectUris: [], gatewayUrl: '', log: quietLog }
  for (const host of ['0.0.0.0', '::', '192.168.1.7', 'example.com', '']) {
    await assert.rejects(startSandbox({ ...options, host }), { code: 'sandbox.not_loopback' })
  }
  const sandbox = await startSandbox({ ...options, host: 'localhost' })
  await sandbox.stop()
})

test('two sandboxes side by side share neither a port nor a world', async (t) => {
  const [one, other] = [await testSandbox(t), await testSandbox(t)]
  assert.notEqual(one.url, other.url)
  one.world.guilds.pop()
  one.world.users.splice(0)
  assert.equal(other.world.guilds.length, 2)
  assert.equal(demoWorld().users.length, Object.keys(people).length + 1)
})

test('keys of outside accounts stay for the same secret, and nobody guesses them from another', () => {
  const keys = (secret?: string) => Object.values(demoWorld(secret).keys)
  assert.deepEqual(keys('one'), keys('one'))
  const all = [...keys('one'), ...keys('other'), ...keys(), ...keys()]
  assert.equal(new Set(all).size, all.length)
})

test('each id of the demo world is a snowflake of its own, and every reference leads somewhere', () => {
  const { users, guilds, application } = demoWorld()
  const roles = guilds.flatMap((guild) => guild.roles)
  const ids = [...users, ...guilds, ...roles.filter(({ name }) => name !== '@everyone')].map(
    ({ id }) => id,
  )
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(ids.every((id) => /^[1-9]\d{17}$/.test(id)))
  const known = new Set(ids)
  for (const { ownerId, members } of guilds) {
    assert.ok(known.has(ownerId))
    assert.ok(
      members.every(
        ({ userId, roleIds }) => known.has(userId) && roleIds.every((id) => known.has(id)),
      ),
    )
  }
  assert.ok(known.has(application.botId))
  assert.ok(
    Object.values(servers).every(
      ({ id, officerRoleId }) => known.has(id) && known.has(officerRoleId),
    ),
  )
})

test('the page at the end of a sign-in shows a command that no code can break out of', async (t) => {
  const { clientUrl } = await testSandbox(t)
  const open = async (query: Record<string, string>) =>
    (await fetch(`${clientUrl}/auth/?${new URLSearchParams(query)}`)).text()
  assert.match(
    await open({ code: 'abc' }),
    /-d &#39;{&quot;code&quot;:&quot;abc&quot;}&#39;<\/pre>/,
  )
  const odd = await open({ code: `'; rm -rf ~ #<script>` })
  assert.ok(
    odd.includes(
      '-d &#39;{&quot;code&quot;:&quot;&#39;\\&#39;&#39;; rm -rf ~ #&lt;script&gt;&quot;}&#39;',
    ),
  )
  assert.match(await open({ error: '<b>no</b>' }), /role="alert">&lt;b&gt;no/)
})

test("a member's sign-in ends at a page that says so, or why not", async (t) => {
  const { clientUrl } = await testSandbox(t)
  const open = async (query = '') => (await fetch(`${clientUrl}${query}`)).text()
  assert.match(await open(), /Signed in[\s\S]*href="[^"]*\/api\/accounts\/me"/)
  assert.match(await open('?error=%3Cb%3Eno'), /Not signed in[\s\S]*role="alert">&lt;b&gt;no/)
})

test('without a gateway the command asks for its address instead of leaving it out', async (t) => {
  const options = { world: demoWorld(), redirectUris: [], log: quietLog }
  for (const sandbox of [
    await startSandbox(options),
    await startSandbox({ ...options, gatewayUrl: '' }),
  ]) {
    cleanUp(t, () => sandbox.stop())
    const html = await (await fetch(`${sandbox.clientUrl}/auth/?code=abc`)).text()
    assert.match(
      html,
      /curl -s &quot;\$\{GATEWAY_URL:\?set it to the address of the gateway\}&quot;\/api/,
    )
  }
})

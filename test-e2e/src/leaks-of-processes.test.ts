import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { syncCalendar } from '@guildhall/contracts/calendar'
import { listPods } from '@guildhall/contracts/compute'
import { connectToPod } from '@guildhall/contracts/connect'
import { reportError } from '@guildhall/contracts/error-groups'
import { useTool } from '@guildhall/contracts/mcp'
import { services } from '@guildhall/contracts/names'
import { queryPack } from '@guildhall/contracts/packs'
import { listFiles } from '@guildhall/contracts/pod-files'
import { people } from '@guildhall/sandbox/demo'
import { fillStack, SEALED_MEMORY } from './filled-stack.ts'
import { leaksIn, watchFetch } from './gather.ts'
import { ended, launch, newHome, ready, serverPids } from './launched.ts'
import { gathered, officerFlows, outage } from './leak-flows.ts'
import {
  bearer,
  type Client,
  clientOf,
  cliToken,
  machineTokenOf,
  memberSession,
  signIn,
} from './people.ts'

/** Settings of a deployment that the sandbox takes or that nobody asks, each a secret. */
const DEPLOYMENT = {
  EMBEDDINGS_API_KEY: 'embeddings-key-of-the-deployment',
  CODEHOST_TOKEN: 'codehost-token-of-the-deployment',
  NOTES_API_KEY: 'notes-key-of-the-deployment',
  RENDERER_API_KEY: 'renderer-key-of-the-deployment',
  ERROR_WEBHOOK_URL: 'https://127.0.0.1:9/api/webhooks/1/secret-path-of-the-deployment',
  TRACKER_DSN: 'https://secretuserofthetracker@127.0.0.1:9/1',
}

/** Everybody writes at every service of the processes: members buy, agents remember, tools are used, feeds post. */
async function everyServiceFlow(url: string) {
  const { location } = await memberSession(url, people.member)
  const { origin } = new URL(location)
  const identityToken = async (id: string) => {
    const answer = await fetch(`${origin}/identity/token?user_id=${id}`)
    return ((await answer.json()) as { token: string }).token
  }
  const { officer, agent, token } = await fillStack({
    url,
    sandbox: { identityToken },
    settings: { CLIENT_URL: location },
    as: (given) => clientOf(url, given),
    signIn: (person) => signIn(url, person),
    machineToken: (given, scopes) => machineTokenOf(clientOf(url, given), scopes),
  })
  const params = { org: 'demo' }
  const words = { source: 'web', params: { words: 'zeppelin' } }
  const replies = await Promise.all([
    officer.call(syncCalendar, { params, query: { wait: 'true' } }),
    officer.call(reportError, { params, body: { message: 'A page of the dashboard broke' } }),
    agent.call(useTool, { params: { name: 'knowledge.search' }, body: { query: 'zeppelin' } }),
    agent.call(queryPack, { params: { pack: 'campus' }, body: words }),
  ])
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 202, 200, 200],
    JSON.stringify(replies),
  )
  await podFlow(url, officer)
  const broken = { method: 'POST', headers: bearer(token), body: `{"token":"${token}"` }
  assert.equal((await fetch(`${url}/mcp`, broken)).status, 415)
}

/** The key that opens pods for officers, and the one that signs members' certificates, are both used. */
async function podFlow(url: string, officer: Client) {
  const pods = await officer.call(listPods, { params: { org: 'demo' } })
  assert.ok(pods.status === 200)
  const params = { org: 'demo', pod_id: pods.body.pods[0]?.id ?? assert.fail() }
  const files = await officer.call(listFiles, { params, query: { path: '/' } })
  assert.equal(files.status, 200, JSON.stringify(files.body))
  const cli = clientOf(url, await cliToken(url, people.member))
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const head = Buffer.from('0000000b7373682d6564323535313900000020', 'hex') // RFC 8709 4: "ssh-ed25519", 32 bytes
  const blob = Buffer.concat([head, Buffer.from(x, 'base64url')])
  const body = { public_key: `ssh-ed25519 ${blob.toString('base64')}` }
  const connected = await cli.call(connectToPod, { params, body })
  assert.equal(connected.status, 200, JSON.stringify(connected.body))
}

test('no secret of any service or deployment reaches the output of the processes, whatever goes wrong', async (t) => {
  using watched = watchFetch()
  const home = await newHome(t)
  const env = { LOG_LEVEL: 'debug', ...DEPLOYMENT }
  const stack = await launch(t, home, env, 'scripts/src/processes.ts')
  const url = await ready(stack)
  await everyServiceFlow(url)
  await officerFlows(url)
  const [postgres = 0] = await serverPids(home)
  const { access_token } = await signIn(url, people.officer)
  await outage(url, postgres, access_token)

  const given = new Map(Object.entries(DEPLOYMENT).map(([name, value]) => [value, name]))
  const secrets = new Map([...(await gathered(home, watched.secrets)), ...given])
  secrets.set(SEALED_MEMORY, 'a sensitive memory')
  assert.ok([...secrets.values()].includes('file qdrant_api_key'), 'files of secrets are gathered')
  stack.process.kill('SIGINT')
  assert.equal(await ended(stack.process), 0)
  for (const service of services)
    assert.match(stack.output(), new RegExp(`"logger":"${service}"`), 'every process is heard')
  assert.deepEqual(leaksIn(stack.output(), secrets), [])
})

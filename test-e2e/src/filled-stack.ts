import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { linkAccount } from '@guildhall/contracts/accounts'
import { commitTurn } from '@guildhall/contracts/agent-turns'
import { runFeedNow } from '@guildhall/contracts/alerts'
import { createAppToken } from '@guildhall/contracts/app-tokens'
import { createClient } from '@guildhall/contracts/client'
import { createPod, getPod } from '@guildhall/contracts/compute'
import { putSource } from '@guildhall/contracts/knowledge'
import { planPodSession } from '@guildhall/contracts/pod-sessions'
import { assignPoints } from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import { checkout } from '@guildhall/contracts/store-orders'
import { createProduct } from '@guildhall/contracts/store-products'
import { accounts, people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { clientOf, cliToken, memberSession } from './people.ts'
import type { TestStack } from './stack.ts'

const params = { org: 'demo' }
const HOUR_MS = 3_600_000
/** What is written under the sealing key, and found again under it alone. */
export const SEALED_MEMORY = 'is ill on Mondays'

/** Lets officers, members and agents write at every service of a stack, and answers their credentials. */
export async function fillStack(
  stack: Pick<TestStack, 'url' | 'as' | 'signIn' | 'machineToken'> & {
    sandbox: Pick<TestStack['sandbox'], 'identityToken'>
    settings: { CLIENT_URL?: string | undefined }
  },
) {
  const pair = await stack.signIn(people.officer)
  const officer = stack.as(pair.access_token)
  const { token } = await stack.machineToken(pair.access_token, [
    'knowledge:read',
    'knowledge:write',
    'agents:read',
    'agents:write',
  ])
  const agent = stack.as(token)
  await Promise.all([
    done(201, agent.call(putSource, sourceOf('hours', 'The zeppelin lounge opens at noon'))),
    done(201, agent.call(commitTurn, turn())),
    done(202, officer.call(runFeedNow, { params: { ...params, key: 'demo-internships' } })),
    done(200, officer.call(createAppToken, { query: { appname: 'board' } })),
    buy(stack, officer),
    pod(officer),
    cliToken(stack.url, people.officer),
  ])
  return { pair, officer, agent, token }
}

type Client = ReturnType<typeof clientOf>

async function done<T extends { status: number; body: unknown }>(
  status: number,
  asked: Promise<T>,
) {
  const reply = await asked
  assert.equal(reply.status, status, JSON.stringify(reply.body))
  return reply
}

/** A source of one passage. The text is odd on purpose: tabs, lines and backslashes must survive a copy. */
export const sourceOf = (key: string, content: string) => ({
  params: { key },
  body: {
    category: 'docs',
    title: 'Hours\tand \\N "rooms" — ☕',
    chunks: [{ ordinal: 0, content: `${content}\n\\.\nC:\\temp\\x` }],
  },
})

const turn = () => ({
  params: { chat_user_id: people.member.id },
  body: {
    conversation_id: randomUUID() as string,
    channel_id: 'general',
    visibility: 'private' as const,
    messages: [{ role: 'user' as const, content: 'I take my tea black' }],
    memories: [
      { kind: 'profile' as const, content: SEALED_MEMORY, sensitivity: 'sensitive' as const },
    ],
    facts: [
      {
        subject: { kind: 'drink', label: 'tea' },
        relation: 'goes with',
        object: { kind: 'food', label: 'biscuits' },
      },
    ],
    pending: [{ id: randomUUID() as string, action: { award: 5 }, payload_hash: 'h' }],
  },
})

async function buy({ url, sandbox, settings }: Parameters<typeof fillStack>[0], officer: Client) {
  const identity_token = await sandbox.identityToken(accounts.member.id)
  const site = clientOf(url, identity_token)
  await done(200, site.call(memberLogin, { params, body: { email: accounts.member.email } }))
  const { session } = await memberSession(url, people.member)
  const origin = new URL(String(settings.CLIENT_URL)).origin
  const browser = createClient((path, init) =>
    fetch(url + path, { ...init, headers: { ...init.headers, cookie: session, origin } }),
  )
  await done(200, browser.call(linkAccount, { body: { identity_token } }))
  const points = { chat_user_id: people.member.id, points: 20, event: 'Helped' }
  await done(201, officer.call(assignPoints, { params, body: points }))
  const mug = { name: 'Mug', price: 15, stock: 3 }
  const made = await done(201, officer.call(createProduct, { params, body: mug }))
  const { id: product_id } = made.body as { id: number }
  const bought = { items: [{ product_id, quantity: 1 }] }
  await until(async () => (await site.call(checkout, { params, body: bought })).status === 201)
}

async function pod(officer: Client) {
  const body = { allowed_users: [people.member.id] }
  const made = await done(201, officer.call(createPod, { params, body }))
  const { id: pod_id } = (made.body as { pod: { id: string } }).pod
  await until(async () => {
    const reply = await officer.call(getPod, { params: { ...params, pod_id } })
    return reply.status === 200 && reply.body.pod.status === 'RUNNING'
  }, 30_000)
  const at = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()
  const plan = { title: 'Lab', start_at: at(20), stop_at: at(22) }
  await done(201, officer.call(planPodSession, { params: { ...params, pod_id }, body: plan }))
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linkAccount } from '@guildhall/contracts/accounts'
import { pathOf } from '@guildhall/contracts/client'
import { listTools, useTool } from '@guildhall/contracts/mcp'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { getImport, uploadEventCsv } from '@guildhall/contracts/point-imports'
import { assignPoints, getLeaderboard, listPointsUsers } from '@guildhall/contracts/points'
import { getMyPoints, getWallet, memberLogin } from '@guildhall/contracts/store-members'
import {
  cancelMyOrder,
  checkout,
  listMyOrders,
  placeMyOrder,
  putOrder,
} from '@guildhall/contracts/store-orders'
import { createProduct } from '@guildhall/contracts/store-products'
import { accounts, people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { clientOf, memberSession } from './people.ts'
import { testStack } from './stack.ts'

const org = { params: { org: 'demo' } }
const EMAIL = accounts.member.email

test('a member earns points by email and by chat, links the two, buys on both sides and gets back what is cancelled', async (t) => {
  const stack = await testStack(t)
  const officer = stack.as((await stack.signIn(people.officer)).access_token)
  const csv = `Email;First Name;Last Name;Checked-In Date\r\n${EMAIL};Milo;Member;2026-10-01\r\n`
  const file = [new File([csv], 'kickoff.csv')]
  const body = { file, event_name: 'Kickoff', event_points: '30' }
  const sent = await officer.call(uploadEventCsv, { ...org, body })
  assert.ok(sent.status === 202, JSON.stringify(sent.body))
  const { job_id } = sent.body
  await until(async () => {
    const reply = await officer.call(getImport, { params: { org: 'demo', job_id } })
    return reply.status === 200 && reply.body.state === 'done'
  })
  const chat = { chat_user_id: people.member.id, points: 20, event: 'Helped' }
  assert.equal((await officer.call(assignPoints, { ...org, body: chat })).status, 201)
  const made = await officer.call(createProduct, {
    ...org,
    body: { name: 'Mug', price: 15, stock: 3 },
  })
  assert.ok(made.status === 201)

  const site = clientOf(stack.url, await stack.sandbox.identityToken(accounts.member.id))
  const login = await site.call(memberLogin, { ...org, body: { email: EMAIL } })
  assert.ok(login.status === 200 && login.body.user?.name === 'Milo Member')
  const { session } = await memberSession(stack.url, people.member)
  const origin = new URL(String(stack.settings.CLIENT_URL)).origin
  const headers = { cookie: session, origin, 'content-type': 'application/json' }
  async function inChat({ method, url }: { method: string; url: string }, body?: object) {
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const reply = await fetch(stack.url + url.replace(':org', 'demo'), init)
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
  }
  const items = [{ product_id: made.body.id, quantity: 1 }]
  const bought = await inChat(placeMyOrder, { items })
  assert.deepEqual([bought.status, bought.body.balance], [201, 5])

  const identity_token = await stack.sandbox.identityToken(accounts.member.id)
  assert.equal((await inChat(linkAccount, { identity_token })).status, 200)
  await until(async () => (await inChat(getMyPoints)).body.total_points === 35)
  const wallet = await site.call(getWallet, { params: { org: 'demo', email: EMAIL } })
  assert.ok(wallet.status === 200 && wallet.body.total_points === 35)
  const placed = await site.call(checkout, { ...org, body: { items } })
  assert.ok(placed.status === 201 && placed.body.balance === 20)

  const cancel = pathOf(cancelMyOrder, { params: { org: 'demo', id: String(bought.body.id) } })
  assert.equal((await inChat({ method: 'POST', url: cancel }, {})).status, 200)
  const params = { org: 'demo', id: String(placed.body.id) }
  const moved = await officer.call(putOrder, { params, body: { status: 'processing' } })
  assert.equal(moved.status, 200)
  const orders = (await inChat(listMyOrders)).body as unknown as { status: string }[]
  assert.deepEqual(
    orders.map(({ status }) => status),
    ['processing', 'cancelled'],
  )
  assert.equal((await inChat(getMyPoints)).body.total_points, 35)

  const board = await stack.as().call(getLeaderboard, org)
  assert.ok(board.status === 200)
  assert.deepEqual(
    board.body.map((one) => [one.name, one.total_points, one.identifier.includes('@')]),
    [['Milo', 35, false]],
  )
  const known = await officer.call(getLeaderboard, org)
  assert.ok(known.status === 200 && known.body[0]?.identifier === EMAIL)
  const rival = stack.as((await stack.signIn(people.rivalOfficer)).access_token)
  assert.equal((await rival.call(listPointsUsers, org)).status, 403)
  const actions = [
    'points.imported',
    'points.awarded',
    'product.created',
    'order.placed',
    'order.changed',
  ]
  await until(async () => {
    const org_id = String(await stack.orgId((await stack.signIn(people.officer)).access_token))
    const log = await officer.call(listOrgAudit, {
      params: { org_id },
      query: { action: 'store.' },
    })
    const found = log.status === 200 ? log.body.entries.map(({ action }) => action) : []
    return actions.every((action) => found.includes(`store.${action}`))
  })
})

test('an agent awards points, sends an attendance file and reads what became of both', async (t) => {
  const stack = await testStack(t)
  const { access_token } = await stack.signIn(people.officer)
  const { token } = await stack.machineToken(access_token, ['points:read', 'points:write'])
  const agent = stack.as(token)
  const listed = await agent.call(listTools, {})
  assert.ok(listed.status === 200)
  assert.deepEqual(
    listed.body.tools.map(({ name }) => name),
    ['points.leaderboard', 'points.history', 'points.award', 'points.import_csv'],
  )
  const use = async (name: string, body: Record<string, unknown>) => {
    const reply = await agent.call(useTool, { params: { name }, body })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body as { result?: Record<string, unknown>; confirm_required?: true }
  }
  const file_content = `Email,Checked-In Date\n${EMAIL},2026-10-01\n`
  const file = { event_name: 'Kickoff', event_points: 30, file_content }
  const preview = await use('points.import_csv', file)
  assert.equal(preview.confirm_required, true)
  assert.match(JSON.stringify(preview), /"attended":1/)
  await use('points.import_csv', { ...file, confirm: true })
  await until(async () => {
    const board = await use('points.leaderboard', {})
    return JSON.stringify(board.result).includes('"total_points":30')
  })
  const award = { user_identifier: EMAIL, points: 5, event: 'Helped' }
  assert.equal((await use('points.award', award)).confirm_required, true)
  const once = { ...award, confirm: true, idempotency_key: 'once' }
  for (let n = 0; n < 2; n++)
    assert.equal((await use('points.award', once)).result?.total_points, 35)
  const history = await use('points.history', { identifier: EMAIL })
  assert.match(JSON.stringify(history.result), /"awarded_by":"[^"]+"/)
  assert.equal(history.result?.total_points, 35)
})

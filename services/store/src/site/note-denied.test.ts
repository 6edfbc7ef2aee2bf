import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getLeaderboard, getPoints } from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import { checkout, placeMyOrder } from '@guildhall/contracts/store-orders'
import {
  anyone,
  at,
  award,
  CHAT,
  inChat,
  madeMember,
  madeProduct,
  OFFICER,
  platform,
  site,
} from '../testing.ts'
import { loggedStore } from '../testing-lines.ts'

const ADA = 'ada@example.org'
const STRANGER = '20007'

for (const [enforce, decision, statuses] of [
  ['true', 'deny', [403, 409, 409]],
  ['false', 'would_deny', [200, 201, 201]],
] as const)
  test(`with ACCESS_ENFORCE=${enforce} what the store denies is one line each, which names who asked and no email`, async (t) => {
    const store = await loggedStore(t, { ACCESS_ENFORCE: enforce })
    await madeMember(store, ADA, 50)
    await award(store, CHAT, 50)
    const { id } = await madeProduct(store, { price: 10 })
    const items = [{ product_id: id, quantity: 1, price: 9 }]
    store.lines.length = 0

    const other = { ...at(), body: { email: 'eve@example.org' } }
    const login = await store.as(site(ADA)).call(memberLogin, other)
    const ada = site(ADA)
    const bySite = { ...ada, caller: { kind: 'identity' as const, email: ADA, subject: 'user_1' } }
    const bought = await store.as(bySite).call(checkout, { ...at(), body: { items } })
    const inSession = await store.as(inChat()).call(placeMyOrder, { ...at(), body: { items } })
    assert.deepEqual([login.status, bought.status, inSession.status], statuses)
    const price = `access decision=${decision} reason=checkout_price_mismatch`
    assert.deepEqual(
      store.lines.filter((line) => line.startsWith('access ')),
      [
        `access decision=${decision} reason=member_login_unverified route=POST ${memberLogin.url} org=org1 credential=identity:user_${ADA}`,
        `${price} route=POST ${checkout.url} org=org1 credential=identity:user_1`,
        `${price} route=POST ${placeMyOrder.url} org=org1 credential=chat:${CHAT}`,
      ],
    )
  })

test('members that are hidden are a line for who might have seen them, and none for everybody else', async (t) => {
  const store = await loggedStore(t)
  await madeMember(store, ADA, 5)
  store.lines.length = 0
  for (const list of [getLeaderboard, getPoints])
    for (const who of [anyone(), platform(OFFICER), platform(STRANGER)])
      assert.equal((await store.as(who).call(list, at())).status, 200)
  const line = 'access decision=deny reason=member_details_hidden'
  assert.deepEqual(
    store.lines.filter((one) => one.startsWith('access ')),
    [getLeaderboard, getPoints].map(
      ({ url }) => `${line} route=GET ${url} org=org1 credential=platform:${STRANGER}`,
    ),
  )
})

test('while auth is away an officer gets ids, and the log says why', async (t) => {
  const store = await loggedStore(t)
  await madeMember(store, ADA, 5)
  await store.stopAuth()
  const reply = await store.as(platform(OFFICER)).call(getLeaderboard, at())
  assert.ok(reply.status === 200)
  assert.ok(!JSON.stringify(reply.body).includes('@'))
  assert.ok(store.lines.some((line) => line.startsWith('Nobody said whether an officer asks')))
})

import type { TestContext } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs, quietLog, testSettings } from '@guildhall/bus/testing'
import { findLinkedEmail } from '@guildhall/contracts/accounts'
import { findMembership } from '@guildhall/contracts/members'
import { findOrg } from '@guildhall/contracts/orgs'
import { assignPoints, createPointsUser } from '@guildhall/contracts/points'
import { getWallet, linkPeople } from '@guildhall/contracts/store-members'
import { checkout } from '@guildhall/contracts/store-orders'
import { createProduct } from '@guildhall/contracts/store-products'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import type { Identity } from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { newId } from '@guildhall/service/id'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

type Test = Pick<TestContext, 'after'>
export const OFFICER = '10001'
export const CHAT = '20002'

/** The store on its own database and broker, with an auth that knows OFFICER and whoever is in `linked`. */
export async function testStore(t: Test, more: Env = {}) {
  const settings = {
    ...(await testSettings(t, { store: migrations })),
    ACCESS_ENFORCE: 'true',
    ...more,
  }
  const { DATABASE_URL, INTERNAL_KEY, NATS_URL } = settings
  const { linked, stopAuth } = await testAuth(t, NATS_URL)
  const store = await start(readConfig(settings))
  cleanUp(t, () => store[Symbol.asyncDispose]())
  const url = roleUrl(DATABASE_URL, 'store', INTERNAL_KEY)
  const db = openDb<Tables>({ url, schema: 'store', log: quietLog })
  cleanUp(t, () => db.destroy())
  const auth = await busAs(t, { url: NATS_URL, peer: 'auth' })
  const as = (identity: Partial<Identity>, headers: Record<string, string> = {}) =>
    clientAs(store.url, INTERNAL_KEY, identity, headers)
  const link = (chat_user_id: string, email: string) =>
    ask(auth, linkPeople, { chat_user_id, email })
  return { as, db, settings, linked, stopAuth, auth, link, url: store.url }
}

export type TestStore = Awaited<ReturnType<typeof testStore>>

/** auth, as far as the store asks it: everybody but `99999` is on the server. */
async function testAuth(t: Test, url: string) {
  /** Emails by the chat users that they are linked to. */
  const linked = new Map<string, string>()
  const auth = await busAs(t, { url, peer: 'auth' })
  answer(auth, findLinkedEmail, async ({ chat_user_id }) => ({
    email: linked.get(chat_user_id) ?? null,
  }))
  answer(auth, findOrg, async (asked) => ({
    org:
      [1, 2].map(orgOf).find(({ prefix }) => 'prefix' in asked && asked.prefix === prefix) ?? null,
  }))
  answer(auth, findMembership, async ({ chat_user_id }) => ({
    member: chat_user_id !== '99999',
    officer: chat_user_id === OFFICER,
    name: `Chat ${chat_user_id}`,
    roles: [],
    valid_until: new Date(Date.now() + 60_000).toISOString(),
  }))
  await auth.nats.flush()
  return { linked, stopAuth: () => auth.nats.close() }
}

const orgOf = (id: number) => ({
  id,
  prefix: `org${id}`,
  name: `Org ${id}`,
  modules: ['points', 'storefront'],
  publisher: false,
})

const person = (chat_user_id: string) => ({
  ...{ chat_user_id, username: `name${chat_user_id}`, token_id: newId(), expires_at: 4e9 },
})

/** What the gateway tells of each kind of caller. */
export const officer = (org = 1): Partial<Identity> => ({
  org: orgOf(org),
  caller: { kind: 'officer', superadmin: false, ...person(OFFICER) },
})
export const platform = (chat_user_id = OFFICER, org = 1): Partial<Identity> => ({
  org: orgOf(org),
  caller: { kind: 'platform', ...person(chat_user_id) },
})
export const inChat = (chat_user_id = CHAT, org = 1): Partial<Identity> => ({
  org: orgOf(org),
  caller: { kind: 'member', chat_user_id, username: 'ada', session_id: newId() },
})
export const site = (email: string, org = 1): Partial<Identity> => ({
  org: orgOf(org),
  caller: { kind: 'identity', email, subject: `user_${email}` },
})
export const anyone = (org = 1): Partial<Identity> => ({ org: orgOf(org) })

export const at = (org = 1) => ({ params: { org: `org${org}` } })
export const idIn = (id: number, org = 1) => ({ params: { org: `org${org}`, id: String(id) } })

/** The status of a reply, and the code of a refusal. */
export const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { code?: string }).code,
]

/** What a member has, as their wallet on the store site shows it. */
export async function balanceOf({ as }: Pick<TestStore, 'as'>, email: string, org = 1) {
  const params = { org: `org${org}`, email }
  const reply = await as(site(email, org)).call(getWallet, { params })
  return reply.status === 200 ? reply.body.total_points : undefined
}

/** A store where the owner of this email has 100 points, for five mugs of 10 each; `buy` takes two. */
export async function stocked(t: Test, email: string, more: Env = {}) {
  const store = await testStore(t, more)
  await madeMember(store, email, 100)
  const product = await madeProduct(store, { price: 10, stock: 5 })
  const buy = (body: object = {}) => {
    const items = [{ product_id: product.id, quantity: 2 }]
    return store.as(site(email)).call(checkout, { ...at(), body: { items, ...body } })
  }
  return { ...store, product, buy }
}

/** A member of the org by their email, with points. */
export async function madeMember({ as }: TestStore, email: string, points = 0, org = 1) {
  const body = { name: email.split('@')[0] ?? '', email }
  const made = await as(officer(org)).call(createPointsUser, { ...at(org), body })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  if (points > 0) await award({ as }, email, points, org)
  return made.body.user
}

export async function award({ as }: Pick<TestStore, 'as'>, who: string, points: number, org = 1) {
  const key = /^\d+$/.test(who) ? { chat_user_id: who } : { user_identifier: who }
  const body = { ...key, points, event: 'Start' }
  const given = await as(officer(org)).call(assignPoints, { ...at(org), body })
  if (given.status !== 201) throw new Error(JSON.stringify(given.body))
}

/** A product of the org. */
export async function madeProduct({ as }: TestStore, { price = 10, stock = 5, org = 1 } = {}) {
  const body = { name: 'Mug', price, stock }
  const made = await as(officer(org)).call(createProduct, { ...at(org), body })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return made.body
}

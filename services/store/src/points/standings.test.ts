import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uploadEventCsv } from '@guildhall/contracts/point-imports'
import { assignPoints, getLeaderboard, getPoints } from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import {
  anyone,
  at,
  madeMember,
  OFFICER,
  officer,
  platform,
  site,
  type TestStore,
  testStore,
} from '../testing.ts'
import { ranked } from './standings.ts'

const ADA = 'ada@example.org'

test('the lists for everybody show no email, but to officers of that org', async (t) => {
  const store = await testStore(t)
  await madeMember(store, 'zoe@example.org', 30)
  await madeMember(store, ADA, 20)
  await madeMember(store, 'other@example.org', 99, 2)
  type Who = Parameters<typeof store.as>[0]
  const ranked = (who: Who) => store.as(who).call(getLeaderboard, at())
  const named = (who: Who) => store.as(who).call(getPoints, at())
  for (const [list, order] of [
    [ranked, ['zoe', 'ada']],
    [named, ['ada', 'zoe']],
  ] as const) {
    for (const who of [anyone(), platform('20007'), platform(OFFICER)]) {
      const reply = await list(who)
      assert.ok(reply.status === 200)
      assert.deepEqual(
        reply.body.map(({ name }) => name),
        order,
      )
      const officers = who.caller?.kind === 'platform' && who.caller.chat_user_id === OFFICER
      assert.equal(JSON.stringify(reply.body).includes('@'), officers)
      assert.equal(reply.body[0]?.points_details[0]?.event, 'Start')
    }
  }
  const page = await store
    .as(anyone())
    .call(getLeaderboard, { ...at(), query: { limit: '1', offset: '1' } })
  assert.ok(page.status === 200)
  assert.deepEqual(
    page.body.map(({ name }) => name),
    ['ada'],
  )
})

test('they show what was earned, the newest twenty, and nothing that was taken away', async (t) => {
  const store = await testStore(t)
  await madeMember(store, ADA)
  const give = (points: number, event: string) =>
    store.as(officer()).call(assignPoints, {
      ...at(),
      body: { user_identifier: ADA, points, event },
    })
  for (let n = 1; n <= 21; n++) await give(2, `Talk ${n}`)
  assert.equal((await give(-2, 'No-show fine')).status, 201)
  const [ada] = await listed(store)
  assert.equal(ada?.total_points, 40)
  assert.deepEqual(
    ada?.points_details.map(({ event }) => event),
    Array.from({ length: 20 }, (_, n) => `Talk ${21 - n}`),
  )
})

test('nobody is called by a part of their email', async (t) => {
  const store = await testStore(t)
  const login = { ...at(), body: { email: 's1234567@example.org' } }
  const entered = await store.as(site('s1234567@example.org')).call(memberLogin, login)
  assert.ok(entered.status === 200 && entered.body.user?.name === 'Member')
  const file = [new File(['Email,Checked-In Date\njdoe42@example.org,x\n'], 'a.csv')]
  const body = { file, event_name: 'Kickoff', event_points: '5' }
  assert.equal((await store.as(officer()).call(uploadEventCsv, { ...at(), body })).status, 202)
  const list = await until(async () => {
    const now = await listed(store)
    return now.length === 2 && now
  }, 20_000)
  assert.deepEqual(
    list.map(({ name }) => name),
    ['Member', 'Member'],
  )
  assert.ok(!/jdoe42|s1234567/.test(JSON.stringify(list)))
  const named = { ...at(), body: { email: 'jdoe42@example.org', name: 'Jo' } }
  const jo = await store.as(site('jdoe42@example.org')).call(memberLogin, named)
  assert.ok(jo.status === 200 && jo.body.user?.name === 'Jo', 'a name that is given fills it in')
})

test('of the members before a page no entry is read', async (t) => {
  const store = await testStore(t)
  for (let n = 0; n < 12; n++) await madeMember(store, `member${n}@example.org`, 5)
  const [plan] = (await ranked(store.db, 1, { limit: 3, offset: 7 }).explain(
    'json',
    sql`analyze, timing off`,
  )) as { 'QUERY PLAN': { Plan: Plan }[] }[]
  const reads = plan ? nodesOf(plan['QUERY PLAN'][0]?.Plan).filter(isLedger) : []
  assert.deepEqual(
    reads.map((node) => node['Actual Loops']),
    [3],
  )
})

interface Plan {
  'Actual Loops': number
  'Relation Name'?: string
  Plans?: Plan[]
}
const isLedger = (node: Plan) => node['Relation Name'] === 'ledger'
const nodesOf = (plan?: Plan): Plan[] =>
  plan ? [plan, ...(plan.Plans ?? []).flatMap((one) => nodesOf(one))] : []

async function listed({ as }: TestStore) {
  const reply = await as(anyone()).call(getLeaderboard, at())
  assert.ok(reply.status === 200)
  return reply.body
}

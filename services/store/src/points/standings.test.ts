import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getLeaderboard, getPoints } from '@guildhall/contracts/points'
import { anyone, at, madeMember, OFFICER, platform, testStore } from '../testing.ts'

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

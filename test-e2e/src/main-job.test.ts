import assert from 'node:assert/strict'
import { test } from 'node:test'
import { search, uploadDocuments } from '@guildhall/contracts/knowledge'
import { listAudit, listOrgAudit } from '@guildhall/contracts/ops'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { demoDocuments } from './documents.ts'
import { testStack } from './stack.ts'

/** Its vectors alone take as long as those of all the others. */
const LONGEST = 'newton-opticks-book1-part2.txt'
/** 29 of the 38 had it on 2026-11-21, a dozen of them asked in words that the passage does not have. */
const LEAST_QUESTIONS = 26

test("an officer's documents are found by an agent, and every step but the searches is in the audit log", async (t) => {
  const { as, signIn, orgId, machineToken } = await testStack(t)

  const officer = await signIn(people.officer)
  const agent = await machineToken(officer.access_token, ['knowledge:read', 'knowledge:write'])

  const { files, questions } = await demoDocuments(LONGEST)
  const uploaded = await as(officer.access_token).call(uploadDocuments, {
    params: { org: 'demo' },
    body: { files, folder: 'library' },
  })
  assert.ok(uploaded.status === 200, JSON.stringify(uploaded.body))
  assert.equal(uploaded.body.failed, 0, JSON.stringify(uploaded.body.files))
  assert.equal(uploaded.body.indexed, files.length)

  const missed = []
  for (const { question, source, answer } of questions) {
    const found = await as(agent.token).call(search, { body: { query: question, top_k: 3 } })
    assert.ok(found.status === 200)
    assert.equal(found.body.dense, true)
    const [first] = found.body.results
    const right =
      first?.source_key === `library/${source}` && folded(first.content).includes(folded(answer))
    if (!right) missed.push({ question, answer, got: first?.content })
  }
  const right = questions.length - missed.length
  t.diagnostic(`${right} of ${questions.length} questions have the right passage first`)
  assert.ok(right >= LEAST_QUESTIONS, JSON.stringify(missed, null, 2))

  const org_id = String(await orgId(officer.access_token))
  const superadmin = await signIn(people.superadmin)
  const wanted = [
    'auth.officer.signed_in',
    'auth.machine_token.created',
    'knowledge.documents.uploaded',
    ...files.map(() => 'knowledge.source.written'),
  ].sort()
  const lines = await until(async () => {
    const query = { actor: people.officer.id, limit: '500' }
    const reply = await as(superadmin.access_token).call(listAudit, { query })
    assert.ok(reply.status === 200)
    return reply.body.entries.length >= wanted.length && reply.body.entries
  })
  assert.deepEqual(lines.map(({ action }) => action).sort(), wanted)
  const own = await as(officer.access_token).call(listOrgAudit, { params: { org_id } })
  assert.ok(own.status === 200)
  assert.ok(!own.body.entries.some(({ action }) => action.includes('search')))
})

const folded = (text: string) => text.replace(/\s+/g, ' ').toLowerCase()

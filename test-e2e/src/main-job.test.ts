import assert from 'node:assert/strict'
import { test } from 'node:test'
import { search, uploadDocuments } from '@guildhall/contracts/knowledge'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { demoDocuments } from './documents.ts'
import { testStack } from './stack.ts'

const LEAST_QUESTIONS = 20

test("an officer's documents are found by an agent, and every step but the searches is in the audit log", async (t) => {
  const { as, signIn, orgId, machineToken } = await testStack(t)

  const officer = await signIn(people.officer)
  const org_id = String(await orgId(officer.access_token))
  const agent = await machineToken(officer.access_token, ['knowledge:read', 'knowledge:write'])

  const { files, questions } = await demoDocuments()
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

  const actions = ['auth.machine_token.created', 'knowledge.documents.uploaded']
  const lines = await until(async () => {
    const reply = await as(officer.access_token).call(listOrgAudit, { params: { org_id } })
    assert.ok(reply.status === 200)
    return (
      actions.every((action) => reply.body.entries.some((entry) => entry.action === action)) &&
      reply.body.entries
    )
  })
  for (const { actor_id, action } of lines) {
    if (actions.includes(action)) assert.equal(actor_id, people.officer.id)
  }
  assert.ok(!lines.some(({ action }) => action.includes('search')))
})

const folded = (text: string) => text.replace(/\s+/g, ' ').toLowerCase()

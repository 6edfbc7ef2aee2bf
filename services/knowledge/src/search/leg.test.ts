import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { AppError } from '@guildhall/service/errors'
import { createLog } from '@guildhall/service/log'
import { until } from '@guildhall/service/testing'
import { inTrace, traceFrom } from '@guildhall/service/trace'
import { createLeg } from './leg.ts'

const PATIENT_MS = 300
const IMPATIENT_MS = 50

/** A leg that waits only a little, and what it told. */
function testLeg(tellAgainMs?: number) {
  const told: string[] = []
  const to = new Writable({
    write(line, _, done) {
      const { level, msg } = JSON.parse(String(line)) as { level: string; msg: string }
      told.push(`${level} ${msg}`)
      done()
    },
  })
  const log = createLog('test', { format: 'json', level: 'info', to })
  const waits = { patientMs: PATIENT_MS, impatientMs: IMPATIENT_MS }
  const names = { name: 'part', meanwhile: 'it goes without' }
  return { told, ...createLeg({ log, ...names, ...waits, ...(tellAgainMs && { tellAgainMs }) }) }
}

const fine = async () => 'found'
const broken = () => Promise.reject(new AppError('upstream', 'part.failed', 'no'))
const never = () => new Promise<never>(() => undefined)
const after = (ms: number) => async () => {
  const began = performance.now()
  await until(() => performance.now() - began > ms)
  return 'late'
}

test('a part fails when it failed three times in a row, and is told once in a while', async () => {
  const { run, failure, told } = testLeg()
  for (const work of [broken, broken, fine, broken, broken]) await run(work)
  assert.deepEqual([failure(), told], [undefined, []])
  for (const work of [broken, broken]) assert.equal(await run(work), undefined)
  assert.match(failure() ?? '', /^the part fails since 20.*Z: no$/)
  assert.equal(await run(fine), 'found')
  assert.equal(failure(), undefined)
  for (const work of [broken, broken, broken, broken, fine]) await run(work)
  assert.deepEqual(told, ['ERROR The part fails; it goes without', 'INFO The part works again'])
})

test('an outage that began soon after another is told when it lasts', async () => {
  const { run, told } = testLeg(200)
  for (const work of [broken, broken, broken, fine, broken, broken, broken]) await run(work)
  assert.equal(told.length, 2)
  await until(async () => {
    await run(broken)
    return told.length > 2
  })
  assert.equal(told[2], told[0])
})

test('what is said of one question is no failure of the part, and is told seldom', async () => {
  const { run, failure, told } = testLeg()
  for (const _ of [1, 2, 3, 4, 5]) assert.equal(await run(broken, () => true), undefined)
  assert.equal(failure(), undefined)
  assert.deepEqual(told, ['WARN The part refuses a question; it goes without'])
})

test('quick failures do not cut the wait', async () => {
  const { run } = testLeg()
  for (const _ of [1, 2, 3, 4, 5]) await run(broken)
  assert.equal(await run(after(2 * IMPATIENT_MS)), 'late')
})

test('slow failures cut the wait until an answer comes in good time', async () => {
  const { run, failure } = testLeg()
  await Promise.all([1, 2, 3].map(() => run(never)))
  const began = performance.now()
  assert.equal(await run(never), undefined)
  assert.ok(performance.now() - began < PATIENT_MS / 2)
  assert.match(failure() ?? '', /did not answer within 50 ms/)

  let answered = false
  const tooLate = async () => {
    await after(PATIENT_MS + 50)()
    answered = true
  }
  await run(tooLate)
  await until(() => answered)
  assert.ok(failure(), 'an answer that nobody would wait for is none')

  assert.equal(await run(after(2 * IMPATIENT_MS)), undefined)
  await until(() => failure() === undefined)
  assert.equal(await run(after(2 * IMPATIENT_MS)), 'late')
})

test('what nobody foresaw is thrown', async () => {
  const { run } = testLeg()
  await assert.rejects(
    run(() => Promise.reject(new TypeError('a fault of ours'))),
    TypeError,
  )
})

test("a part of one org is its failure, and one that all share nobody's, whoever searched", async () => {
  const orgs: unknown[] = []
  const to = { write: (line: string) => void orgs.push((JSON.parse(line) as { org: unknown }).org) }
  const log = createLog('test', { format: 'json', to })
  const legs = [{}, { org: 8 }].map((whose) =>
    createLeg({ log, name: 'part', meanwhile: 'it goes without', ...whose }),
  )
  await inTrace({ ...traceFrom(undefined), org: 7 }, async () => {
    for (const { run } of legs) for (const work of [broken, broken, broken]) await run(work)
  })
  assert.deepEqual(orgs, [null, 8])
})

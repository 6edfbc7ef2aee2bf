import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { AppError } from '@guildhall/service/errors'
import { until } from '@guildhall/service/testing'
import { lastKnown } from './last-known.ts'
import { createLeg } from './leg.ts'

test('while the other fails what it said last counts and nobody waits, until it is forgotten', async () => {
  const leg = createLeg({ log: quietLog, name: 'other', meanwhile: 'so', patientMs: 50 })
  const world = { asked: 0, work: async () => 'first' }
  const ask = () => {
    world.asked++
    return world.work()
  }
  const { of, forget } = lastKnown<number, string>(ask, leg)
  assert.equal(await of(1), 'first')
  world.work = () => new Promise(() => undefined)
  assert.deepEqual(await Promise.all([of(1), of(1), of(1)]), ['first', 'first', 'first'])
  assert.ok(leg.failure())
  const held = of(2)
  assert.equal(await Promise.race([of(1), held]), 'first')
  assert.equal(await held, undefined)

  forget(1)
  assert.equal(await of(1), undefined)
  world.work = () => Promise.reject(new AppError('unavailable', 'other.gone', 'gone'))
  assert.equal(await of(1), undefined)
  world.work = async () => 'second'
  await until(async () => (await of(1)) === 'second')
  assert.equal(leg.failure(), undefined)
})

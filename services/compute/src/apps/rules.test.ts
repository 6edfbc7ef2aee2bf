import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@guildhall/service/errors'
import { HIDDEN, withoutSecrets } from './rules.ts'

test('a reason of the pod host is told without the values of secrets, however they are quoted', () => {
  const secrets = { app_short: 'abc', app_long: 'abcdef', app_quoted: 'a "b"\n\\c', app_empty: '' }
  const message = `env abcdef, abc, ${JSON.stringify(secrets.app_quoted)} and ${secrets.app_quoted} is too long`
  const cause = new Error(message)
  const told = withoutSecrets(
    new AppError('invalid', 'pod.refused', message, { cause, retryAfter: 7 }),
    secrets,
  )
  assert.ok(told instanceof AppError)
  assert.equal(told.message, `env ${HIDDEN}, ${HIDDEN}, "${HIDDEN}" and ${HIDDEN} is too long`)
  assert.deepEqual([told.kind, told.code, told.retryAfter], ['invalid', 'pod.refused', 7])
  assert.equal(told.cause, undefined, 'which would be logged')
})

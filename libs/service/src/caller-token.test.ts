import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import {
  callerKey,
  type Identity,
  openIdentity,
  signIdentity,
  type Target,
} from './caller-token.ts'

const INTERNAL_KEY = '22'.repeat(32)
const key = callerKey(INTERNAL_KEY, 'ops')
const target: Target = { service: 'ops', method: 'GET', path: '/api/superadmin/audit?limit=2' }
const identity: Identity = {
  caller: { kind: 'machine', token_id: 't', token_kind: 'app', name: 'n', scopes: ['org:read'] },
  org: { id: 7, prefix: 'chess', name: 'Chess', modules: ['points'], publisher: false },
  request_id: 'r1',
}
const NOW = Date.UTC(2031, 0, 1)
const token = signIdentity(identity, target, key, NOW)

function signed(header: object, body: string, by = key) {
  const claims = [JSON.stringify(header), body]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')
  return `${claims}.${createHmac('sha256', by).update(claims).digest('base64url')}`
}

test('a token carries the whole identity to the service that it is for', () => {
  const opened = openIdentity(token, target, key, NOW)
  assert.deepEqual(opened && { ...identity, ...opened }, opened)
  assert.deepEqual(opened?.caller, identity.caller)
  assert.deepEqual(opened?.org, identity.org)
  assert.equal(opened?.request_id, 'r1')
})

test('a token counts for 30 seconds and not a moment longer', () => {
  assert.ok(openIdentity(token, target, key, NOW + 29_999))
  assert.equal(openIdentity(token, target, key, NOW + 30_000), undefined)
})

test('each service has a key of its own, from which no other follows', () => {
  assert.equal(openIdentity(token, target, callerKey(INTERNAL_KEY, 'auth'), NOW), undefined)
  assert.equal(openIdentity(token, target, callerKey('33'.repeat(32), 'ops'), NOW), undefined)
  assert.ok(openIdentity(token, target, callerKey(INTERNAL_KEY, 'ops'), NOW))
})

test('a token counts for one service, method, path and query', () => {
  for (const other of [
    { service: 'auth' as const },
    { method: 'DELETE' },
    { path: '/api/superadmin/errors?limit=2' },
    { path: '/api/superadmin/audit?limit=3' },
    { path: '/api/superadmin/audit' },
  ]) {
    assert.equal(openIdentity(token, { ...target, ...other }, key, NOW), undefined)
  }
})

test('a token whose claims, header or signature were changed counts for nothing', () => {
  const [header = '', claims = '', signature = ''] = token.split('.')
  const body = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object
  const raised = JSON.stringify({ ...body, caller: { kind: 'superadmin' } })
  const forged = Buffer.from(raised).toString('base64url')
  const unsigned = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
  for (const bad of [
    `${header}.${forged}.${signature}`,
    `${header}.${forged}.`,
    `${unsigned}.${forged}.`,
    signed({ alg: 'none', typ: 'JWT' }, raised),
    signed({ alg: 'HS512', typ: 'JWT' }, raised),
    signed({ alg: 'HS256', typ: 'JWT' }, raised, callerKey(INTERNAL_KEY, 'auth')),
  ]) {
    assert.equal(openIdentity(bad, target, key, NOW), undefined, bad)
  }
})

test('what is no token at all counts for nothing, and throws nothing', () => {
  const [header = '', claims = ''] = token.split('.')
  for (let end = 0; end < token.length; end += 1) {
    assert.equal(openIdentity(token.slice(0, end), target, key, NOW), undefined)
  }
  for (const bad of ['undefined', '..', 'x.y.z', '💥', `${header}.`, `${header}.${claims}`]) {
    assert.equal(openIdentity(bad, target, key, NOW), undefined, bad)
  }
  for (const body of ['', 'not json', 'null', '[]', '{}', '7']) {
    assert.equal(
      openIdentity(signed({ alg: 'HS256', typ: 'JWT' }, body), target, key, NOW),
      undefined,
    )
  }
})

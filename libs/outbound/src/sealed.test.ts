import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSealer, parseKeys, subkey } from './sealed.ts'

const KEY = randomBytes(32).toString('base64')
const OTHER = randomBytes(32).toString('hex')
const belongs = { org: 7, field: 'notes_token' }
const unopenable = { kind: 'unavailable', code: 'sealed.unopenable' }

test('a sealed value opens for its org and field and never looks the same twice', () => {
  const sealer = createSealer(KEY, 'auth.secrets')
  const sealed = sealer.seal('geheim ✓', belongs)
  assert.match(sealed, /^v1\.[0-9a-f]{12}\.[\w-]+$/)
  assert.equal(sealer.open(sealed, belongs).toString(), 'geheim ✓')
  assert.notEqual(sealer.seal('geheim ✓', belongs), sealed)
  const bytes = Uint8Array.of(0, 255, 128)
  assert.deepEqual([...sealer.open(sealer.seal(bytes, belongs), belongs)], [...bytes])
  assert.equal(sealer.open(sealer.seal('', belongs), belongs).length, 0)
})

test('a value opens neither for another org, nor field, nor use', () => {
  const sealer = createSealer(KEY, 'auth.secrets')
  const sealed = sealer.seal('secret', belongs)
  for (const other of [
    { ...belongs, org: 8 },
    { ...belongs, org: null },
    { ...belongs, field: 'x' },
  ]) {
    assert.throws(() => sealer.open(sealed, other), unopenable)
  }
  assert.throws(() => createSealer(KEY, 'compute.ssh_keys').open(sealed, belongs), unopenable)
})

test('org 1 with field 23 is not org 12 with field 3', () => {
  const sealer = createSealer(KEY, 'use')
  const sealed = sealer.seal('secret', { org: 1, field: '23' })
  assert.throws(() => sealer.open(sealed, { org: 12, field: '3' }), unopenable)
})

test('every changed byte is noticed', () => {
  const sealer = createSealer(KEY, 'use')
  const [format, id, payload] = sealer.seal('secret', belongs).split('.')
  const bytes = Buffer.from(payload ?? '', 'base64url')
  for (const index of bytes.keys()) {
    const altered = Buffer.from(bytes)
    altered[index] = (altered[index] ?? 0) ^ 1
    const text = [format, id, altered.toString('base64url')].join('.')
    assert.throws(() => sealer.open(text, belongs), unopenable)
  }
  const cut = bytes.subarray(0, -1).toString('base64url')
  for (const text of [
    '',
    'v1',
    'v1..',
    `v2.${id}.${payload}`,
    `v1.${id}.${cut}`,
    `v1.${id}.${payload}.x`,
  ]) {
    assert.throws(() => sealer.open(text, belongs), unopenable)
  }
})

test('the first key seals, all keys open, and a value of a dropped key says so', () => {
  const old = createSealer(OTHER, 'use').seal('old', belongs)
  const both = createSealer(`${KEY}, ${OTHER}`, 'use')
  assert.equal(both.open(old, belongs).toString(), 'old')
  const renewed = both.seal('new', belongs)
  assert.equal(createSealer(KEY, 'use').open(renewed, belongs).toString(), 'new')
  assert.throws(() => createSealer(KEY, 'use').open(old, belongs), {
    ...unopenable,
    message: /its key is not in SECRETS_KEY/,
  })
})

test('without a key nothing is sealed or opened, and the error says what to set', () => {
  for (const unset of [undefined, '', '  ']) {
    const sealer = createSealer(unset, 'use')
    const error = {
      kind: 'unavailable',
      code: 'secrets_key.unset',
      message: /Set it to .*hex.*base64.*passphrase/,
    }
    assert.equal(sealer.ready, false)
    assert.throws(() => sealer.seal('x', belongs), error)
    assert.throws(() => sealer.open('v1.a.b', belongs), error)
  }
})

test('hex, base64, base64url and long passphrases are keys', () => {
  const bytes = Buffer.alloc(32, 251)
  for (const encoding of ['hex', 'base64', 'base64url'] as const) {
    assert.deepEqual(parseKeys(bytes.toString(encoding)), [bytes])
  }
  const passphrase = 'the quick brown fox jumps over it all'
  assert.deepEqual(parseKeys(passphrase), [Buffer.from(passphrase)])
})

test('a short or empty key stops with its place and what is accepted, without quoting it', () => {
  for (const short of ['hunter2', 'ab'.repeat(31), randomBytes(16).toString('base64'), '']) {
    assert.throws(
      () => createSealer(`${KEY},${short}`, 'use'),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'secrets_key.malformed')
        assert.match(error.message, /key 2 holds \d+ bytes.*at least 32 bytes/)
        return short === '' || !error.message.includes(short)
      },
    )
  }
})

test('subkeys of one master are 32 bytes, repeatable and unrelated', () => {
  assert.equal(subkey('master', 'a').length, 32)
  assert.deepEqual(subkey('master', 'a'), subkey(Buffer.from('master'), 'a'))
  assert.notDeepEqual(subkey('master', 'a'), subkey('master', 'b'))
})

test('subkey is HKDF-SHA256 of RFC 5869 (test case 3, first 32 bytes)', () => {
  const expected = '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d'
  assert.equal(subkey(Buffer.alloc(22, 0x0b), '').toString('hex'), expected)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkStorable } from './storable.ts'

test('a key that reaches the prototype of an object is refused, and named', () => {
  for (const [body, key] of [
    ['{"__proto__":{"a":1}}', '__proto__'],
    ['{"more":[1,{"\\u005f_proto__":null}]}', '__proto__'],
    ['{"constructor":{"prototype":{}}}', 'constructor'],
  ] as const) {
    const named = { code: 'request.reserved_key', message: new RegExp(`key ${key}`) }
    assert.throws(() => checkStorable(JSON.parse(body)), named, body)
  }
  for (const fine of ['{"constructor":"Brunel"}', '{"constructor":{"name":1}}', '["__proto__"]'])
    checkStorable(JSON.parse(fine))
})

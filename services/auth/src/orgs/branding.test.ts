import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getBranding, getOrg, putBranding } from '@guildhall/contracts/orgs'
import { officer, testAuth } from '../testing.ts'

const NONE = { logo_url: null, accent_color: null, website_url: null }

test('branding changes value by value, and an empty text or null removes one', async (t) => {
  const { as, org } = await testAuth(t)
  const client = as({ caller: officer(), org })
  const params = { org: org.prefix }
  const put = async (body: object) => (await client.call(putBranding, { params, body })).body
  assert.deepEqual((await client.call(getBranding, { params })).body, NONE)
  const logo_url = 'https://club.test/logo.png'
  assert.deepEqual(await put({ logo_url, accent_color: '#12aBcD' }), {
    ...NONE,
    logo_url,
    accent_color: '#12aBcD',
  })
  await put({ website_url: 'https://club.test' })
  const left = await put({ logo_url: '', accent_color: null })
  assert.deepEqual(left, { ...NONE, website_url: 'https://club.test/' })
  const shown = await client.call(getOrg, { params: { org_id: String(org.id) } })
  assert.deepEqual(shown.status === 200 && shown.body.branding, left)
})

test('what is no https URL and no #RRGGBB is refused with its place', async (t) => {
  const { as, org } = await testAuth(t)
  const client = as({ caller: officer(), org })
  for (const body of [
    {},
    { logo_url: 'http://club.test/logo.png' },
    { logo_url: 'javascript:alert(1)' },
    { website_url: 'club.test' },
    { website_url: 'https://user:pw@club.test/' },
    { logo_url: 'https://user@club.test/logo.png' },
    { accent_color: '#abc' },
    { accent_color: 'red' },
    { accent_color: '#12345g' },
  ]) {
    const reply = await client.call(putBranding, { params: { org: org.prefix }, body })
    assert.ok(reply.status === 400, JSON.stringify(body))
    const [name = ''] = Object.keys(body)
    assert.equal(reply.body.details?.[0]?.path, `/body${name && `/${name}`}`)
  }
})

test('a URL is kept so that it cannot end an attribute', async (t) => {
  const { as, org } = await testAuth(t)
  const body = { logo_url: 'https://club.test/"><script>?"<#">' }
  const params = { org: org.prefix }
  const reply = await as({ caller: officer(), org }).call(putBranding, { params, body })
  assert.ok(reply.status === 200)
  assert.equal(reply.body.logo_url, 'https://club.test/%22%3E%3Cscript%3E?%22%3C#%22%3E')
})

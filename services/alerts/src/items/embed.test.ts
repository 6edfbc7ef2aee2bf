import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cut, embedOf, messageOf } from './embed.ts'

const item = (more: object = {}) => ({
  ...{ title: 'Job: Dev at Acme', url: 'https://jobs.test/1', fields: {}, footer: 'lists/jobs' },
  ...more,
})

test('what a stranger wrote into a list is shown as it stands there, and calls nobody', () => {
  const text = '@everyone **x** [a](https://evil.test) http://evil.test: <@&1> `c` ||s|| # h'
  const embed = embedOf(item({ title: text, fields: { Company: text } }))
  const shown =
    '@everyone \\*\\*x\\*\\* \\[a\\](https\\://evil.test) http\\://evil.test: \\<@&1\\> \\`c\\` \\|\\|s\\|\\| \\# h'
  assert.equal(embed.title, shown)
  assert.equal(embed.fields[0]?.value, shown)
  assert.deepEqual(messageOf(embed), { embeds: [embed], allowed_mentions: { parse: [] } })
})

test('fields come in their order without those that are empty, and a URL that is too long is left out', () => {
  const fields = { Dates: 'Nov 2', Location: '', Type: 'Online' }
  const embed = embedOf(item({ fields }))
  assert.deepEqual(
    embed.fields.map(({ name, value }) => [name, value]),
    [
      ['Dates', 'Nov 2'],
      ['Type', 'Online'],
    ],
  )
  assert.equal(embed.url, 'https://jobs.test/1')
  assert.ok(!('url' in embedOf(item({ url: null }))))
  assert.ok(!('url' in embedOf(item({ url: `https://jobs.test/${'x'.repeat(2000)}` }))))
})

test('texts are cut to what the platform takes: no half of a character, and none half escaped', () => {
  const { title, fields, footer } = embedOf(
    item({ title: '*'.repeat(400), fields: { Role: 'ü'.repeat(2000) }, footer: 'f'.repeat(3000) }),
  )
  assert.match(title, /^(\\\*)+…$/)
  assert.ok(title.length <= 256)
  assert.deepEqual([fields[0]?.value.length, footer.text.length], [1024, 2048])
  assert.equal(cut('ab🎲c', 4), 'ab…')
  assert.equal(cut('abcd', 4), 'abcd')
  assert.equal(cut('a\\*bcd', 3), 'a…')
  assert.equal(cut('a\\\\bcd', 4), 'a\\\\…')
})

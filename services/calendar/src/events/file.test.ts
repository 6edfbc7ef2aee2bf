import assert from 'node:assert/strict'
import { test } from 'node:test'
import ICAL from 'ical.js'
import { fileOf } from './file.ts'
import { readPage } from './read-page.ts'

const EDITED = '2026-11-20T10:11:12.000Z'
const text = (plain_text: string) => [{ plain_text }]
const page = (values: { name?: string; description?: string; location?: string; day?: string }) =>
  readPage(
    {
      id: '00000000-0000-4000-8000-000000000001',
      url: 'https://notes.test/1',
      last_edited_time: EDITED,
      in_trash: false,
      properties: {
        Name: { type: 'title', title: text(values.name ?? 'Meeting') },
        Date: { type: 'date', date: values.day === '' ? null : { start: '2026-12-01' } },
        Location: { type: 'select', select: { name: values.location ?? 'Hall' } },
        Description: { type: 'rich_text', rich_text: text(values.description ?? '') },
        gcal_id: { type: 'rich_text', rich_text: [] },
      },
    },
    'UTC',
  )
function event(values: Parameters<typeof page>[0]) {
  const read = page(values)
  return 'reason' in read ? assert.fail(read.reason) : read
}
const parse = (file: string) => new ICAL.Component(ICAL.parse(file))

for (const [name, written] of [
  ['Demo\r\nBEGIN:VEVENT\r\nSUMMARY:Injected', 'Demo BEGIN:VEVENT SUMMARY:Injected'],
  ['Demo, Club; of \\ all', 'Demo\\, Club\\; of \\\\ all'],
  ['Demo\u2028Club\u0007', 'Demo\u2028Club'],
] as const) {
  test(`a file of the org ${JSON.stringify(name)} has its name on one line and nothing of it beside`, () => {
    const file = parse(fileOf(name, [event({})]))
    // ical.js leaves the escapes in these two
    for (const key of ['name', 'x-wr-calname'])
      assert.equal(file.getFirstPropertyValue(key), written, key)
    const events = file.getAllSubcomponents('vevent').map((one) => new ICAL.Event(one).summary)
    assert.deepEqual(events, ['Meeting'])
  })
}

test('an event says when its page was last edited', () => {
  const [one] = parse(fileOf('Club', [event({})])).getAllSubcomponents('vevent')
  assert.equal(String(one?.getFirstPropertyValue('last-modified')), '2026-11-20T10:11:12Z')
})

test('texts are cut at whole characters and trimmed after that, the title of a skipped page too', () => {
  const name = `${'x'.repeat(999)}🎲`
  const cut = 'x'.repeat(999)
  assert.equal(event({ name }).title, cut)
  assert.equal(page({ name, day: '' }).title, cut)
  assert.equal(event({ name: 'Half \ud800 one' }).title, 'Half \ufffd one')
  const description = `${'y'.repeat(7_999)} and more`
  assert.equal(event({ description }).description, 'y'.repeat(7_999))
  assert.equal(event({ location: ' Hall\u0007 ' }).location, 'Hall')
})

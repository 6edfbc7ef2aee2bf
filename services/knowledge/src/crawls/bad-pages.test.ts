import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { pipeline } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { putKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import type { Lookup } from '@guildhall/outbound/guarded'
import { officer } from '../testing-bodies.ts'
import { crawling, textOf } from '../testing-crawls.ts'
import { page, says } from '../testing-site.ts'

const FOX = page('Foxes', 'A quick fox jumps over the lazy dog.')
const SHORT = { bounds: { timeoutMs: 400, maxBytes: 100_000 } }

function* zeros() {
  for (;;) yield Buffer.alloc(65_536)
}

test('whatever is wrong with a page, its last text stays and the officer is told why', async (t) => {
  const { site, put, crawled } = await crawling(t, {}, SHORT)
  const { pages } = site
  pages.set('/p', says(FOX))
  await put({})
  const { source: before } = await crawled()
  pages.set('/fault', says('', {}, 500))
  pages.set('/closed', says('', {}, 403))
  pages.set('/unasked', says('', {}, 304))
  pages.set('/loop', says('', { location: '/loop' }, 301))
  pages.set('/private', says('', { location: `http://127.0.0.2:${site.port}/p` }, 302))
  pages.set('/metadata', says('', { location: 'http://169.254.169.254/latest' }, 307))
  pages.set('/file', says('', { location: 'file:///etc/passwd' }, 302))
  pages.set('/silent', () => undefined)
  pages.set('/drip', (_, response) => response.writeHead(200).write('<p>'))
  pages.set('/endless', (_, response) => void pipeline(zeros(), response, () => undefined))
  pages.set('/bomb', says(gzipSync(Buffer.alloc(5_000_000)), { 'content-encoding': 'gzip' }))
  pages.set('/image', says('x', { 'content-type': 'image/png' }))
  pages.set('/binary', says('a\0b', { 'content-type': 'text/plain' }))
  pages.set('/empty', says('<html><body><div id="app"></div><script>app()</script></body></html>'))
  pages.set('/damaged', says('%PDF-1.7 no', { 'content-type': 'application/pdf' }))
  for (const [path, said] of [
    ['/gone', /answered 404.*Correct the url/],
    ['/fault', /answered 500.*tried again/],
    ['/closed', /answered 403/],
    ['/unasked', /answered 304/],
    ['/loop', /redirects more than 5 times/],
    ['/private', /: site\.test:\d+ leads to an address that is not on the public internet$/],
    ['/metadata', /: site\.test:\d+ leads to an address that is not on the public internet$/],
    ['/file', /only http and https/],
    ['/silent', /did not answer within/],
    ['/drip', /did not answer within/],
    ['/endless', /more than 100000 bytes/],
    ['/bomb', /more than 100000 bytes/],
    ['/image', /type image\/png, which is not read/],
    ['/binary', /binary data/],
    ['/empty', /no text.*renderer/],
    ['/damaged', /application\/pdf, which is not read|damaged|cannot be read/],
  ] as const) {
    await put({ url: site.at(path) })
    const { outcome, source } = await crawled(true)
    assert.equal(outcome, 'failed', path)
    assert.match(source.crawl?.last_error ?? '', said, path)
    assert.deepEqual(source.version, before.version, path)
  }
  assert.ok(!site.visits.some(({ host }) => host.startsWith('127.0.0.2')))
})

test('no spelling of an address that is not public is asked, nor a name that changes to one', async (t) => {
  const changing = ['127.0.0.1', '127.0.0.2']
  const { site, put, crawled } = await crawling(
    t,
    {},
    {
      bounds: {
        allowAddresses: ['127.0.0.1'],
        lookup: (name, callback) => {
          const address = name === 'changing.test' ? (changing.shift() ?? '10.0.0.1') : '10.0.0.1'
          callback(null, [{ address, family: 4 }])
        },
      },
    },
  )
  site.pages.set('/p', says(FOX))
  const hosts = [
    '10.0.0.1',
    '127.2',
    '2130706434',
    '0x7f000002',
    '0177.0.0.2',
    '0',
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '[::1]',
    '[::ffff:127.0.0.2]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::a9fe:a9fe]',
    '[fd00::1]',
    'inside.test',
  ]
  for (const host of hosts) {
    await put({ url: `http://${host}:${site.port}/p` })
    const { outcome, source } = await crawled()
    assert.equal(outcome, 'failed', host)
    assert.match(source.crawl?.last_error ?? '', /not on the public internet/, host)
  }
  assert.equal(site.visits.length, 0)
  await put({ url: site.at('/p', 'changing.test') })
  const { source } = await crawled()
  assert.match(source.crawl?.last_error ?? '', /changing\.test is not on the public internet/)
  assert.deepEqual(site.paths(), ['/robots.txt'])
})

test('pages are read in the encoding that they are in', async (t) => {
  const { site, put, crawled, as } = await crawling(t)
  const text = page('Grüße', 'Füchse fressen gern Äpfel für fünf.', 5)
  const latin = Buffer.from(text, 'latin1')
  const meta = Buffer.from(text.replace('<title>', '<meta charset="iso-8859-1"><title>'), 'latin1')
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
  const plain = { 'content-type': 'text/plain; charset=windows-1252' }
  for (const [path, answer] of [
    ['/header', says(latin, { 'content-type': 'text/html; charset=ISO-8859-1' })],
    ['/meta', says(meta)],
    ['/mark', says(utf16)],
    ['/nothing', says(latin)],
    ['/unknown', says(Buffer.from(text), { 'content-type': 'text/html; charset=klingon' })],
    ['/plain', says(Buffer.from('Füchse fressen gern Äpfel', 'latin1'), plain)],
  ] as const) {
    site.pages.set(path, answer)
    await put({ url: site.at(path) }, path.slice(1))
    const { source } = await crawled(false, path.slice(1))
    assert.equal(source.crawl?.last_error, null, path)
    assert.match(await textOf({ as }, path.slice(1)), /Füchse fressen gern Äpfel/, path)
    const title = path === '/plain' ? `site.test:${site.port}/plain` : 'Grüße'
    assert.equal(source.title, title)
  }
  await put({ url: site.at('/plain'), title: 'My own' }, 'plain')
  assert.equal((await crawled(false, 'plain')).source.title, 'My own')
})

test('a text of 9 MB is read and cut while others are answered, and refused where it makes over 5000 passages', async (t) => {
  const { site, put, crawled, as } = await crawling(t)
  const text = 'The workshop opens at nine. '.repeat(330_000)
  site.pages.set('/p', says(text, { 'content-type': 'text/plain' }))
  await put({})
  const { source } = await crawled()
  assert.match(source.crawl?.last_error ?? '', /more than the 5000 passages.*chunk_chars/)
  assert.equal(source.version, null)
  const change = { params: { org: 'org1' }, body: { chunk_chars: 4000 } }
  assert.equal((await as(officer(1)).call(putKnowledgeSettings, change)).status, 200)

  const waits = monitorEventLoopDelay({ resolution: 10 })
  waits.enable()
  const done = await crawled()
  waits.disable()
  t.diagnostic(`longest wait ${Math.round(waits.max / 1e6)} ms`)
  assert.deepEqual([done.outcome, done.source.crawl?.last_error], ['changed', null])
  assert.ok((done.source.version?.chunk_count ?? 0) > 2000)
  assert.ok(waits.max < 700e6, `${waits.max / 1e6} ms`)
})

test('the networks that the operator blocks are refused although they are public', async (t) => {
  const lookup: Lookup = (_, callback) => callback(null, [{ address: '192.88.1.7', family: 4 }])
  const bounds = { bounds: { lookup } }
  const { put, crawled } = await crawling(
    t,
    { KNOWLEDGE_BLOCKED_NETWORKS: '192.88.1.0/24' },
    bounds,
  )
  await put({ url: 'http://own.test/p' })
  const { source } = await crawled()
  assert.match(source.crawl?.last_error ?? '', /own\.test is not on the public internet$/)
  assert.doesNotMatch(source.crawl?.last_error ?? '', /192/)
})

test('a page of 10 MB is read, and one byte more is not', async (t) => {
  const { site, put, crawled } = await crawling(t)
  const most = 10 * 1024 * 1024
  for (const [path, bytes] of [
    ['/most', most],
    ['/more', most + 1],
  ] as const)
    site.pages.set(path, says('word'.padEnd(bytes), { 'content-type': 'text/plain' }))
  await put({ url: site.at('/most') })
  assert.equal((await crawled()).outcome, 'changed')
  await put({ url: site.at('/more') })
  const { outcome, source } = await crawled(true)
  assert.equal(outcome, 'failed')
  assert.match(source.crawl?.last_error ?? '', /more than 10485760 bytes/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Lookup } from '@guildhall/outbound/guarded'
import { until } from '@guildhall/service/testing'
import { crawling, textOf } from '../testing-crawls.ts'
import { page, says, testSite } from '../testing-site.ts'

const FOX = page('Foxes', 'A rendered fox jumps over the lazy dog.')

test("pages come through the deployment's renderer, which may be private, else through the org's own, which may not", async (t) => {
  const renderer = await testSite(t)
  renderer.pages.set('/render', says(FOX))
  renderer.pages.set('/content', says(FOX.replaceAll('rendered', 'posted')))
  const { site, put, crawled, as, setSecrets } = await crawling(t, {
    RENDERER_URL: renderer.at('/render', '127.0.0.1'),
    RENDERER_API_KEY: 'r3nder',
  })
  await put({ url: site.at('/p?a=1') })
  const first = await crawled()
  assert.equal(first.source.crawl?.last_error, null)
  assert.match(await textOf({ as }), /rendered fox/)
  const [asked] = renderer.visits
  assert.equal(asked?.path, `/render?url=${encodeURIComponent(site.at('/p?a=1'))}`)
  assert.equal(asked?.headers.authorization, 'Bearer r3nder')
  assert.deepEqual(site.paths(), ['/robots.txt'])

  await setSecrets(1, { renderer_url: renderer.at('/content'), renderer_api_key: 'own' })
  await until(async () => (await crawled(true)) && renderer.paths().includes('/content'))
  const posted = renderer.visits.find(({ path }) => path === '/content')
  assert.deepEqual(
    [posted?.method, posted?.body],
    ['POST', JSON.stringify({ url: site.at('/p?a=1') })],
  )
  assert.equal(posted?.headers.authorization, 'Bearer own')
  assert.match(await textOf({ as }), /posted fox/)

  const asks = renderer.visits.length
  await put({ url: `http://127.0.0.2:${site.port}/p` })
  assert.match((await crawled()).source.crawl?.last_error ?? '', /not on the public internet/)
  site.pages.set('/robots.txt', says('User-agent: *\nDisallow: /'))
  await put({ url: site.at('/p', 'closed.test') })
  assert.match((await crawled()).source.crawl?.last_error ?? '', /robots\.txt/)
  assert.equal(renderer.visits.length, asks)

  await put({ url: site.at('/p?a=1') })
  await setSecrets(1, { renderer_url: `http://127.0.0.2:${renderer.port}/render` })
  const refused = await until(async () => {
    const { source } = await crawled(true)
    return source.crawl?.last_error
  })
  assert.match(refused, /renderer: .*127\.0\.0\.2 is not on the public internet/)
})

test('a renderer that fails is said so, and files are fetched as they are', async (t) => {
  const renderer = await testSite(t)
  renderer.pages.set('/render', says('', {}, 500))
  const { site, put, crawled, as } = await crawling(t, {
    RENDERER_URL: renderer.at('/render/{url}', '127.0.0.1'),
  })
  await put({})
  const { source } = await crawled()
  assert.match(source.crawl?.last_error ?? '', /^renderer \(http:.*answered 404/)
  assert.equal(renderer.paths()[0], `/render/${encodeURIComponent(site.at('/p'))}`)
  site.pages.set('/notes.txt', says('Plain notes', { 'content-type': 'text/plain' }))
  await put({ url: site.at('/notes.txt') })
  assert.equal((await crawled()).outcome, 'changed')
  assert.match(await textOf({ as }), /Plain notes/)
})

test('a renderer that speaks as Firecrawl does holds the page in JSON, and tells what the page answered', async (t) => {
  const renderer = await testSite(t)
  const scraped = (statusCode: number) =>
    says(JSON.stringify({ success: true, data: { rawHtml: FOX, metadata: { statusCode } } }))
  renderer.pages.set('/v1/scrape', scraped(200))
  const { site, put, crawled, as } = await crawling(t, {
    RENDERER_URL: renderer.at('/v1/scrape', '127.0.0.1'),
  })
  await put({ url: site.at('/p') })
  assert.equal((await crawled()).source.crawl?.last_error, null)
  assert.match(await textOf({ as }), /rendered fox/)
  assert.deepEqual(JSON.parse(renderer.visits[0]?.body ?? ''), {
    url: site.at('/p'),
    formats: ['rawHtml'],
  })

  renderer.pages.set('/v1/scrape', scraped(404))
  assert.match((await crawled(true)).source.crawl?.last_error ?? '', /answered 404 to the renderer/)
  renderer.pages.set('/v1/scrape', says('{"success":false}'))
  assert.match((await crawled(true)).source.crawl?.last_error ?? '', /without data\.rawHtml/)
})

test('a page whose name leads inside by then is not given to the renderer', async (t) => {
  const renderer = await testSite(t)
  renderer.pages.set('/render', says(FOX))
  let lookups = 0
  const lookup: Lookup = (_, callback) =>
    callback(null, [{ address: lookups++ === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 }])
  const more = { RENDERER_URL: renderer.at('/render', '127.0.0.1') }
  const { site, put, crawled } = await crawling(t, more, { bounds: { lookup } })
  await put({})
  const { outcome, source } = await crawled()
  assert.equal(outcome, 'failed')
  assert.match(source.crawl?.last_error ?? '', /: site\.test is not on the public internet$/)
  assert.deepEqual([site.paths(), renderer.paths()], [['/robots.txt'], []])
})

import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { checkPublic, type GuardedOptions, guardedFetch, isPublic, type Lookup } from './guarded.ts'

const LOOPBACK = '127.0.0.1'
const refused = { kind: 'invalid', code: 'url.not_allowed' }

/** A local server and a fetch for which 127.0.0.1 alone passes for public. */
async function site(t: TestContext, listener: RequestListener) {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    listener(request, response)
  })
  await new Promise<void>((done) => server.listen(0, done)) // all addresses, 127.0.0.2 and ::1 as well
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const get = (path = '/', options: GuardedOptions = {}) =>
    guardedFetch(URL.parse(path)?.href ?? `http://${LOOPBACK}:${port}${path}`, {
      allowAddresses: [LOOPBACK],
      ...options,
    })
  return { get, port, requests: () => requests }
}

function* zeros() {
  for (;;) yield Buffer.alloc(65_536)
}

const answers =
  (...addresses: string[]): Lookup =>
  (_, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )

test('every spelling of an address that is not public is refused before connecting', async (t) => {
  const { port, requests } = await site(t, (_, response) => response.end('internal'))
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '0',
    '0.0.0.0',
    '127.0.0.1.',
    '①②⑦.⓪.⓪.①',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[fe80::1]',
    '[fd00::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[100::1]',
    '[2001:db8::1]',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '168.63.129.16',
    '[::ffff:168.63.129.16]',
    '100.64.0.1',
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    'localhost',
  ]
  for (const host of hosts) {
    await assert.rejects(guardedFetch(`http://${host}:${port}/`), refused, host)
  }
  assert.equal(requests(), 0)
})

test('public addresses are public', () => {
  for (const address of [
    '93.184.216.34',
    '1.1.1.1',
    '2606:2800:220:1:248:1893:25c8:1946',
    '::ffff:8.8.8.8',
  ]) {
    assert.equal(isPublic(address), true, address)
  }
  for (const nonsense of ['', 'example.org', '1.2.3.4.5']) assert.equal(isPublic(nonsense), false)
})

test('only http and https without credentials are fetched', async () => {
  for (const url of [
    'file:///etc/passwd',
    'ftp://example.org/',
    'data:text/plain,x',
    'javascript:1',
  ]) {
    await assert.rejects(guardedFetch(url), { ...refused, message: /http and https/ })
  }
  await assert.rejects(guardedFetch('http://user:secret@example.org/'), {
    ...refused,
    message: /user name/,
  })
  for (const url of ['', 'example.org', 'http://', 'http://[::1']) {
    await assert.rejects(guardedFetch(url), { code: 'url.malformed' })
  }
})

test('a name is refused if any of its addresses is not public', async (t) => {
  const { port, requests } = await site(t, (_, response) => response.end('internal'))
  for (const addresses of [
    ['127.0.0.1'],
    ['93.184.216.34', '10.0.0.1'],
    ['::1', '93.184.216.34'],
  ]) {
    const fetching = guardedFetch(`http://mixed.example:${port}/`, {
      lookup: answers(...addresses),
    })
    await assert.rejects(fetching, refused)
  }
  assert.equal(requests(), 0)
})

test('a name that changes its address is connected where it was checked', async (t) => {
  const { get, port } = await site(t, (_, response) => response.end('checked'))
  let lookups = 0
  const rebinding: Lookup = (host, callback) =>
    answers(lookups++ === 0 ? LOOPBACK : '127.0.0.2')(host, callback)
  const first = await get(`http://rebind.example:${port}/`, { lookup: rebinding })
  assert.deepEqual([first.bytes.toString(), lookups], ['checked', 1])
  await assert.rejects(get(`http://rebind.example:${port}/`, { lookup: rebinding }), refused)
})

test('redirects are followed to the end and each is checked', async (t) => {
  const { get, port, requests } = await site(t, (request, response) => {
    const to = new URL(request.url ?? '', 'http://x').searchParams.get('to')
    if (to) return response.writeHead(302, { location: to }).end()
    response.end('end')
  })
  const answer = await get('/a?to=/b')
  assert.deepEqual([answer.status, answer.url], [200, `http://${LOOPBACK}:${port}/b`])
  const before = requests()
  const bad = [
    `http://127.0.0.2:${port}/`,
    `http://[::1]:${port}/`,
    'file:///etc/passwd',
    `http://a:b@${LOOPBACK}/`,
  ]
  for (const to of bad) await assert.rejects(get(`/?to=${encodeURIComponent(to)}`), refused, to)
  await assert.rejects(get('/?to=http://['), { code: 'url.malformed' })
  assert.equal(requests() - before, bad.length + 1)
})

test('a redirect loop ends after five', async (t) => {
  const { get, requests } = await site(t, (_, response) =>
    response.writeHead(301, { location: '/again' }).end(),
  )
  await assert.rejects(get(), { code: 'url.redirected', message: /more than 5 times/ })
  assert.equal(requests(), 6)
})

test('a POST does not follow a redirect', async (t) => {
  const { get, requests } = await site(t, (_, response) =>
    response.writeHead(307, { location: '/again' }).end(),
  )
  await assert.rejects(get('/', { method: 'POST', body: '{}' }), { code: 'url.redirected' })
  assert.equal(requests(), 1)
})

test('credentials in headers stay with the origin they were meant for', async (t) => {
  const other = await site(t, (request, response) => response.end(JSON.stringify(request.headers)))
  const to = `http://${LOOPBACK}:${other.port}/`
  const { get } = await site(t, (_, response) => response.writeHead(302, { location: to }).end())
  const answer = await get('/', {
    headers: { Authorization: 'Bearer x', Cookie: 'a=b', 'User-Agent': 'Bot/1' },
  })
  const seen = JSON.parse(answer.bytes.toString())
  assert.deepEqual(
    [seen.authorization, seen.cookie, seen['user-agent']],
    [undefined, undefined, 'Bot/1'],
  )
})

test('any status is an answer', async (t) => {
  const { get } = await site(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { etag: '"1"' }).end()
  })
  for (const code of [304, 404, 500]) {
    const answer = await get(`/${code}`)
    assert.deepEqual([answer.status, answer.headers.get('etag')], [code, '"1"'])
  }
})

test('a slow site, a dripping one and a slow redirect share one deadline', async (t) => {
  const { get } = await site(t, (request, response) => {
    if (request.url === '/redirect') return response.writeHead(302, { location: '/silent' }).end()
    if (request.url === '/drip') response.writeHead(200).write('x')
  })
  for (const path of ['/silent', '/drip', '/redirect']) {
    await assert.rejects(get(path, { timeoutMs: 80 }), { kind: 'upstream', code: 'url.timeout' })
  }
})

test('a body past the limit is cut off: announced, endless or compressed', async (t) => {
  const { get } = await site(t, (request, response) => {
    if (request.url === '/announced')
      return response.writeHead(200, { 'content-length': 1e9 }).flushHeaders()
    if (request.url === '/bomb') {
      return response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(5_000_000)))
    }
    pipeline(zeros(), response, () => undefined)
  })
  for (const path of ['/announced', '/endless', '/bomb']) {
    await assert.rejects(get(path, { maxBytes: 100_000 }), {
      kind: 'upstream',
      code: 'url.too_large',
    })
  }
})

test('a name without an address and a closed port are unreachable, not refused', async () => {
  const none: Lookup = (_, callback) => callback(new Error('ENOTFOUND'), [])
  for (const lookup of [none, answers()]) {
    await assert.rejects(guardedFetch('http://no.example/', { lookup }), {
      kind: 'upstream',
      code: 'url.unreachable',
    })
  }
  const closed = guardedFetch(`http://${LOOPBACK}:9/`, { allowAddresses: [LOOPBACK] })
  await assert.rejects(closed, { code: 'url.unreachable' })
})

test('a redirect that is not to be followed is an answer, its body unread', async (t) => {
  const { get, requests } = await site(t, (_, response) => {
    response.writeHead(302, { location: '/next' })
    pipeline(zeros(), response, () => undefined)
  })
  const { status, headers, bytes } = await get('/', { redirect: 'manual', maxBytes: 1000 })
  assert.deepEqual([status, headers.get('location'), bytes.length], [302, '/next', 0])
  assert.equal(requests(), 1)
})

test('a URL for somebody else to fetch is checked without being fetched', async () => {
  await checkPublic('https://public.test/', { lookup: answers('93.184.216.34') })
  for (const [url, ...addresses] of [
    ['http://2130706433/', '93.184.216.34'],
    ['http://[::ffff:7f00:1]/', '93.184.216.34'],
    ['http://mixed.test/', '93.184.216.34', '10.0.0.1'],
    ['ftp://public.test/', '93.184.216.34'],
  ] as const) {
    await assert.rejects(checkPublic(url, { lookup: answers(...addresses) }), refused, url)
  }
  const none = checkPublic('http://none.test/', { lookup: answers() })
  await assert.rejects(none, { code: 'url.unreachable' })
})

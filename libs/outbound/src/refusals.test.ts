import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { AppError } from '@guildhall/service/errors'
import { checkPublic, guardedFetch, isPublic, type Lookup } from './guarded.ts'

const refused = { kind: 'invalid', code: 'url.not_allowed' }
const answers =
  (address: string): Lookup =>
  (_, callback) =>
    callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])

test('blocked networks are refused, in both families and through mapped addresses', async () => {
  const blockedNetworks = ['93.184.216.0/24', '2606:2800::/32']
  for (const address of ['93.184.216.34', '::ffff:93.184.216.34', '2606:2800:220::1']) {
    const lookup = answers(address)
    await assert.rejects(checkPublic('http://own.test/', { lookup, blockedNetworks }), refused)
    await assert.rejects(guardedFetch('http://own.test/', { lookup, blockedNetworks }), refused)
  }
  await checkPublic('http://other.test/', { lookup: answers('93.184.217.34'), blockedNetworks })
})

test('a refusal tells no inner address: neither what a name has nor where a redirect leads', async (t) => {
  const server = createServer((_, response) =>
    response.writeHead(302, { location: 'http://inner.test/' }).end(),
  )
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const lookup = answers('10.1.2.3')
  const named = checkPublic('http://name.test/', { lookup })
  await assert.rejects(named, (error: AppError) => {
    assert.equal(error.message, 'This URL is not fetched: name.test is not on the public internet')
    return /10\.1\.2\.3/.test(String(error.cause))
  })
  await assert.rejects(
    guardedFetch(`http://127.0.0.1:${port}/`, { lookup, allowAddresses: ['127.0.0.1'] }),
    {
      ...refused,
      message: `This URL is not fetched: 127.0.0.1:${port} leads to an address that is not on the public internet`,
    },
  )
})

test('networks that are not the internet are refused from their first address to their last, and no further', () => {
  for (const [below, first, last, above] of [
    [null, '0.0.0.0', '0.255.255.255', '1.0.0.0'],
    ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
    ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
    ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
    ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
    ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
    ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
    ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
    ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
    ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
    ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
    ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
    ['223.255.255.255', '224.0.0.0', '255.255.255.255', null],
    [null, '::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
    ['2001:db7:ffff::', '2001:db8::', '2001:db8:ffff::ffff', '2001:db9::'],
    ['2001:ffff::', '2002::', '2002:ffff::ffff', '2003::'],
    ['3ffe::', '4000::', 'ffff::ffff', null],
  ] as const) {
    for (const address of [first, last]) assert.equal(isPublic(address), false, address)
    for (const address of [below, above]) assert.ok(!address || isPublic(address), `${address}`)
  }
  for (const address of ['2001::1', '2001:2::1', '2001:20::1', '3fff::1', '192.88.99.1'])
    assert.equal(isPublic(address), false, address)
})

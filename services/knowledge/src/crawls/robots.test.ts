import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRobots } from './robots.ts'

const answering = (text: string) =>
  createRobots(
    async () => ({
      status: 200,
      url: 'https://site.test/robots.txt',
      headers: new Headers(),
      bytes: Buffer.from(`User-agent: *\n${text}`),
    }),
    'Bot/1.0',
  )
const page = `https://site.test/${'a'.repeat(1_980)}`
const check = (text: string, url = page) =>
  answering(text).check(url, { signal: new AbortController().signal })

test('rules of any number and shape are soon compared', async () => {
  const hostile = [
    Array.from({ length: 4_500 }, (_, n) => `Disallow: /${'*a'.repeat(55)}b${n}`).join('\n'),
    `Disallow: /${'*'.repeat(400_000)}b`,
  ]
  const plain = 'Disallow: /private'
  const spent = async (text: string) => {
    const started = process.cpuUsage()
    await check(text).catch(() => undefined)
    return process.cpuUsage(started).user / 1_000
  }
  await spent(plain)
  for (const text of hostile) assert.ok((await spent(text)) < 1_000, text.slice(0, 50))
})

test('a rule that is cut off forbids what it forbade', async () => {
  const rule = `Disallow: /secret${'*x'.repeat(20)}`
  const url = `https://site.test/secret${'-x'.repeat(20)}`
  await assert.rejects(check(rule, url), { code: 'crawl.disallowed' })
  await check(rule, 'https://site.test/open')
})

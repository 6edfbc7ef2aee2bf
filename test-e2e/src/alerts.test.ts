import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  deleteFeed,
  getFeed,
  getFeedHistory,
  hackathonSources,
  listFeeds,
  listPresets,
  type NewFeed,
  putFeed,
  runFeedNow,
} from '@guildhall/contracts/alerts'
import { listErrors } from '@guildhall/contracts/error-groups'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { listOrgPacks } from '@guildhall/contracts/packs'
import { listSecrets } from '@guildhall/contracts/secrets'
import { people } from '@guildhall/sandbox/demo'
import type { ChatWebhook } from '@guildhall/sandbox/world'
import { until } from '@guildhall/service/testing'
import { cliToken, memberSession } from './people.ts'
import { testStack } from './stack.ts'

const TOKEN = 'token-of-the-webhook-of-the-channel'
const RUN_MS = 30_000
const org = { org: 'demo' }
const COMMIT = 'e'.repeat(40)

const row = (role: string) =>
  `| Acme | ${role} | Riga | <a href="https://jobs.test/${role}?utm_source=list">Apply</a> | 0d |`
const listOf = (...roles: string[]) =>
  [
    '| Company | Role | Location | Application/Link | Date Posted |',
    '| --- | --- | --- | --- | --- |',
    ...roles.map(row),
  ].join('\n')

/** A stack whose chat platform has a webhook, and Demo Club's officer. */
async function alerting(t: TestContext) {
  const stack = await testStack(t)
  const { world, chatWebhooksUrl } = stack.sandbox
  const hook: ChatWebhook = { id: '70001', token: TOKEN, messages: [], asked: 0 }
  world.webhooks?.push(hook)
  const token = (await stack.signIn(people.officer)).access_token
  const officer = stack.as(token)
  const params = (key: string) => ({ params: { ...org, key } })
  const feed = async (key: string) => {
    const reply = await officer.call(getFeed, params(key))
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.feed
  }
  const history = async (key: string) => {
    const reply = await officer.call(getFeedHistory, params(key))
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body
  }
  /** Runs the feed, and answers its run once it is over. */
  async function run(key: string) {
    const before = (await history(key)).runs.length
    assert.equal((await officer.call(runFeedNow, { ...params(key), body: {} })).status, 202)
    return until(async () => {
      const { runs } = await history(key)
      return runs.length > before && runs[0]
    }, RUN_MS)
  }
  const save = (key: string, body: NewFeed) => officer.call(putFeed, { ...params(key), body })
  const webhook_url = `${chatWebhooksUrl}/${hook.id}/${hook.token}`
  return { stack, world, hook, token, officer, params, feed, history, run, save, webhook_url }
}

type Alerting = Awaited<ReturnType<typeof alerting>>

const titlesOf = ({ messages }: ChatWebhook) => messages.map(({ embeds }) => embeds?.[0]?.title)

/** The preset of this key, as officers see it. */
async function presetOf({ officer }: Alerting, key: string) {
  const reply = await officer.call(listPresets, { params: org })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.presets.find((one) => one.key === key) ?? assert.fail(`no preset ${key}`)
}

/** The repository that the preset names, with a list. Answers its files. */
function repoOf({ world }: Alerting, config: Record<string, unknown>, ...roles: string[]) {
  const files: Record<string, string> = { 'README.md': listOf(...roles) }
  const name = String(config.repo)
  const branch = String(config.branch)
  const repo = { name, private: false, default_branch: branch, refs: { [branch]: COMMIT } }
  world.repos.push({ ...repo, files: { [COMMIT]: files } })
  return files
}

test('the feeds of every pack are presets, as the pack has them', async (t) => {
  const alerts = await alerting(t)
  const packs = await alerts.officer.call(listOrgPacks, { params: org })
  const presets = await alerts.officer.call(listPresets, { params: org })
  assert.ok(packs.status === 200 && presets.status === 200)
  const offered = packs.body.packs.flatMap(({ name, feeds }) =>
    feeds.map((feed) => ({ pack: name, ...feed, added: false })),
  )
  assert.deepEqual(presets.body.presets, offered)
  assert.deepEqual(
    offered.map(({ pack, key }) => `${pack}/${key}`),
    ['careers/internships', 'careers/new-grad', 'careers/hackathons'],
  )
})

test('the feed of a preset records what is there, posts what is new later once, and nobody reads its webhook', async (t) => {
  const alerts = await alerting(t)
  const { officer, save, run, hook, webhook_url } = alerts
  const { kind, config, every_hours, key } = await presetOf(alerts, 'internships')
  const files = repoOf(alerts, config, 'One')
  const made = await save(key, { kind, config, every_hours, webhook_url })
  assert.ok(made.status === 201 && made.body.feed.webhook_set, JSON.stringify(made.body))
  assert.equal((await presetOf(alerts, key)).added, true)

  const { started_at: _, duration_ms: __, ...first } = await run(key)
  assert.deepEqual(first, { found: 1, new: 0, posted: 0, error: null })
  files['README.md'] = listOf('Two', 'One')
  assert.equal((await run(key)).posted, 1)
  assert.equal((await run(key)).posted, 0)
  assert.deepEqual(titlesOf(hook), ['Internship: Two at Acme'])
  assert.equal(hook.messages[0]?.embeds?.[0]?.url, 'https://jobs.test/Two')

  hook.token = 'another' // the platform refuses it from here on
  files['README.md'] = listOf('Three', 'Two', 'One')
  const { error } = await run(key)
  assert.match(error ?? '', /401/)
  const seen = JSON.stringify([made, error, await everythingRead(alerts, key)])
  assert.ok(seen.includes(`alert_webhook_${key}`) && seen.includes('alerts.feed.created'))
  assert.ok(!seen.includes(TOKEN) && !seen.includes(hook.id))

  assert.equal((await officer.call(deleteFeed, alerts.params(key))).status, 200)
  const left = await secretsOf(alerts)
  assert.ok(!JSON.stringify(left).includes(`alert_webhook_${key}`))
})

/** All that an officer can read of a feed, its secret and what was told of it. */
async function everythingRead(alerts: Alerting, key: string) {
  const { stack, officer, history, feed } = alerts
  const org_id = await orgIdOf(alerts)
  const audit = await until(async () => {
    const reply = await officer.call(listOrgAudit, { params: { org_id } })
    return JSON.stringify(reply.body).includes('alerts.feed.created') && reply
  })
  const lists = await officer.call(listFeeds, { params: org })
  const superadmin = stack.as((await stack.signIn(people.superadmin)).access_token)
  const errors = await superadmin.call(listErrors, {})
  assert.deepEqual([lists.status, errors.status], [200, 200])
  const own = [await history(key), await feed(key), await presetOf(alerts, key)]
  return [...own, audit, lists, errors, await secretsOf(alerts)]
}

async function secretsOf(alerts: Alerting) {
  const reply = await alerts.officer.call(listSecrets, {
    params: { org_id: await orgIdOf(alerts) },
  })
  assert.equal(reply.status, 200)
  return reply.body
}

const orgIdOf = async ({ stack, token }: Alerting) => String(await stack.orgId(token))

test('members, officers of another club and agents without its scope neither see nor change a feed', async (t) => {
  const alerts = await alerting(t)
  const { stack, save, webhook_url, params } = alerts
  const config = { repo: 'lists/jobs' }
  assert.equal((await save('jobs', { kind: 'github_jobs', webhook_url, config })).status, 201)
  const rival = stack.as((await stack.signIn(people.rivalOfficer)).access_token)
  const agent = stack.as((await stack.machineToken(alerts.token, ['alerts:manage'])).token)
  const cli = stack.as(await cliToken(stack.url, people.member))
  for (const [who, client] of Object.entries({ rival, agent, cli, nobody: stack.as() })) {
    const replies = [
      await client.call(listFeeds, { params: org }),
      await client.call(getFeed, params('jobs')),
      await client.call(getFeedHistory, params('jobs')),
      await client.call(putFeed, { ...params('jobs'), body: { enabled: false } }),
      await client.call(runFeedNow, { ...params('jobs'), body: {} }),
      await client.call(deleteFeed, params('jobs')),
      await client.call(listPresets, { params: org }),
    ]
    const refused = who === 'rival' ? 403 : 401
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([refused]), who)
  }
  const { session } = await memberSession(stack.url, people.member)
  const shown = await fetch(`${stack.url}/api/alerts/demo/feeds`, { headers: { cookie: session } })
  assert.equal(shown.status, 401)
  const own = await rival.call(listFeeds, { params: { org: 'rival' } })
  assert.deepEqual(own.body, { feeds: [] })
  assert.equal((await alerts.feed('jobs')).enabled, true)
})

const DAY_MS = 86_400_000
const dayAhead = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
const clubEvent = (name: string, ahead: number) => ({
  ...{ name, website: `https://hack.test/${name}`, start: dayAhead(ahead), end: dayAhead(ahead) },
  ...{ city: 'Oslo', country: 'Norway', virtual: false, hybrid: false },
})
const euroEvent = (name: string, ahead: number) => ({
  ...{ name, url: 'https://euro.test/', date_start: dayAhead(ahead).slice(0, 10) },
  ...{ location: 'Online' },
})

test('a hackathons feed posts each event once whatever lists name it, goes on with a list that fails, and fails if all do', async (t) => {
  const alerts = await alerting(t)
  const { world, save, run, hook, webhook_url, feed } = alerts
  world.hackathons = { hackclub: [clubEvent('Known', 5)], euro: { data: [] } }
  const { kind, config } = await presetOf(alerts, 'hackathons')
  assert.equal((await save('hackathons', { kind, config, webhook_url })).status, 201)
  assert.deepEqual((await feed('hackathons')).config, {
    ...{ sources: [...hackathonSources], min_days_ahead: 0, max_days_ahead: 90 },
  })
  assert.deepEqual([(await run('hackathons')).found, hook.asked], [1, 0])

  world.hackathons = {
    hackclub: [clubEvent('Known', 5), clubEvent('Late', 200), clubEvent('Both', 8)],
    euro: { data: [euroEvent('BOTH', 8), euroEvent('Sooner', 6)] },
  }
  const second = await run('hackathons')
  assert.deepEqual([second.found, second.posted, second.error], [3, 2, null])
  assert.deepEqual(titlesOf(hook), ['Sooner', 'Both'])
  assert.deepEqual(
    hook.messages.map(({ embeds }) => embeds?.[0]?.footer?.text),
    ['Euro Hackathons', 'Hack Club'],
  )

  world.hackathons = { hackclub: 503, euro: { data: [euroEvent('Next', 7)] } }
  const third = await run('hackathons')
  assert.equal(third.posted, 1)
  assert.match(third.error ?? '', /Hack Club/)
  world.hackathons = { hackclub: 503, euro: 503, ...everyMonth(503) }
  const failed = await run('hackathons')
  assert.deepEqual([failed.found, failed.posted], [0, 0])
  const { last_error } = await feed('hackathons')
  for (const name of [/Hack Club/, /Euro Hackathons/, /Hackalist/])
    assert.match(last_error ?? '', name)
  assert.deepEqual(titlesOf(hook), ['Sooner', 'Both', 'Next'])
})

/** What Hackalist answers for every month that a feed may look at. */
const everyMonth = (answer: unknown) =>
  Object.fromEntries(
    Array.from({ length: 120 }, (_, ahead) => [
      `hackalist/${dayAhead(ahead).slice(0, 7).replace('-', '/')}.json`,
      answer,
    ]),
  )

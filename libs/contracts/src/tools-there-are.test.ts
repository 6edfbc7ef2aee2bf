import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tools } from './tools.ts'

/** Every tool, by the scope that it needs, as the specification names them; ! asks for confirmation. */
const BY_SCOPE = {
  'org:read': 'org.info org.branding org.overview org.trends',
  'activity:read': 'errors.list activity.log',
  'settings:write': 'errors.resolve knowledge.update_settings',
  'calendar:read': 'events.list',
  'calendar:manage': 'calendar.sync',
  'points:read': 'points.leaderboard points.history',
  'points:write': 'points.award! points.import_csv!',
  'knowledge:read':
    'knowledge.search knowledge.sources knowledge.read_source knowledge.settings knowledge.runs knowledge.packs packs.query',
  'knowledge:write':
    'knowledge.add_document knowledge.set_crawl knowledge.crawl_now knowledge.sync_pack knowledge.delete_source! knowledge.reindex!',
  'alerts:manage':
    'alerts.list alerts.presets alerts.history alerts.save alerts.run alerts.delete!',
  'apps:read': 'apps.list apps.get',
  'apps:manage': 'apps.register apps.delete! apps.rollback!',
  'apps:deploy': 'apps.deploy!',
  'compute:manage':
    'compute.pods compute.sessions compute.add_session compute.list_files compute.read_file compute.create_pod! compute.pod_action! compute.delete_session! compute.write_file!',
} as const

test('the tools are those of the specification, each with its scope and confirmation', () => {
  const wanted = Object.entries(BY_SCOPE).flatMap(([scope, names]) =>
    names.split(' ').map((name) => `${scope} ${name}`),
  )
  const there = tools.map(
    ({ name, scope, confirm }) => `${scope} ${name}${confirm === undefined ? '' : '!'}`,
  )
  assert.deepEqual(there.sort(), wanted.sort())
})

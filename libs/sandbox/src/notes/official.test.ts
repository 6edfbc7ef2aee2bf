import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'
import { officialDescription, testSandbox } from '../testing.ts'

const FILE = 'notes-notion.json'
const VERSION = '2025-09-03'

/** As much of Notion's description (OpenAPI 3.1) as the check reads. */
const Content = z
  .object({
    content: z.object({ 'application/json': z.object({ schema: z.unknown().optional() }) }),
  })
  .optional()
const Operation = z.object({ requestBody: Content, responses: z.record(z.string(), Content) })
const Description = z.object({
  paths: z.record(
    z.string(),
    z.object({
      get: Operation.optional(),
      post: Operation.optional(),
      patch: Operation.optional(),
    }),
  ),
  components: z.looseObject({
    parameters: z.object({
      notionVersion: z.object({ schema: z.object({ default: z.string() }) }),
    }),
  }),
})

interface Exchange {
  /** As the description writes it. */
  path: string
  method: 'get' | 'post' | 'patch'
  sent?: object
  status: number
  body: unknown
}

/** Asks the emulator as a client of that version does, each route well and badly; answers what went to and fro. */
async function exchanged(t: TestContext): Promise<Exchange[]> {
  const { world, notesUrl } = await testSandbox(t)
  const [database] = world.notes.databases
  const [page] = database?.pages ?? []
  const ids = [database?.id, database?.sourceId, page?.id].map(String)
  const [ofDatabase, ofSource, ofPage] = ids
  const exchanges: Exchange[] = []
  async function ask(method: Exchange['method'], path: string, id: string, sent?: object) {
    const headers = {
      authorization: `Bearer ${world.keys.notes}`,
      'notion-version': VERSION,
      ...(sent && { 'content-type': 'application/json' }),
    }
    const init = {
      method: method.toUpperCase(),
      headers,
      ...(sent && { body: JSON.stringify(sent) }),
    }
    const reply = await fetch(notesUrl + path.replace(/\{\w+\}/, id), init)
    const kept = { path, method, ...(sent && { sent }) }
    exchanges.push({ ...kept, status: reply.status, body: await reply.json() })
  }
  const query = '/v1/data_sources/{data_source_id}/query'
  await ask('get', '/v1/databases/{database_id}', ofDatabase ?? '')
  await ask('post', query, ofSource ?? '', { page_size: 1 })
  await ask('post', query, ofSource ?? '', { start_cursor: 'nowhere' })
  const text = { rich_text: [{ text: { content: 'abc' } }] }
  const at = '/v1/pages/{page_id}'
  await ask('patch', at, ofPage ?? '', { properties: { gcal_id: text } })
  await ask('patch', at, ofPage ?? '', { properties: { Date: text } })
  return exchanges
}

test('every route of the notes emulator, what it takes and what it answers fit the official description', async (t) => {
  const exchanges = await exchanged(t)
  assert.deepEqual(
    exchanges.map(({ status }) => status),
    [200, 200, 400, 200, 400],
  )
  const text = await officialDescription(FILE)
  if (text === undefined)
    return t.diagnostic(`skipped: ${FILE} is not here, shapes were not checked`)
  const { paths, components } = Description.parse(text)
  assert.equal(components.parameters.notionVersion.schema.default, VERSION)
  const ajv = new Ajv2020({ strict: false, schemas: [{ $id: 'notion', components }] })
  for (const { path, method, sent, status, body } of exchanges) {
    const operation = paths[path]?.[method]
    assert.ok(operation, `${method} ${path} is not described`)
    const { requestBody, responses } = operation
    assert.ok(responses[status], `${path}: status ${status} is not described`)
    for (const [content, value] of [
      [requestBody, sent],
      [responses[status], body],
    ] as const) {
      const schema = content?.content['application/json'].schema
      if (!schema) continue
      const leading = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"notion#/'))
      assert.ok(ajv.validate(leading, value), `${path} ${status}: ${ajv.errorsText()}`)
    }
  }
  t.diagnostic(`${exchanges.length} exchanges fit Notion's description`)
})

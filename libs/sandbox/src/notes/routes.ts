import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { createLimit } from '../calendar/limit.ts'
import type { World } from '../world.ts'
import { shownDatabase, shownPage } from './shown.ts'
import type { NotesDatabase, NotesPage } from './world.ts'

const PATH = '/notes/v1'
/** The version of the API that the routes below are of; it is asked for with each request. */
const VERSION = '2025-09-03'
const MOST = 100

const Query = z.object({
  page_size: z.int().min(1).max(MOST).default(MOST),
  start_cursor: z.string().optional(),
})
const Patch = z.object({
  properties: z.record(
    z.string(),
    z.object({
      rich_text: z.array(z.object({ text: z.object({ content: z.string().max(2_000) }) })),
    }),
  ),
})
type Ids = { Params: { id: string } }

/** The notes service (Notion), as far as a database is read and a text of a page is written. */
export function notesRoutes(app: FastifyInstance, { world }: { world: World }) {
  const limit = createLimit()
  const preHandler = async (req: FastifyRequest, reply: FastifyReply) => {
    const { notes, keys, faults } = world
    notes.requests.push(`${req.method} ${req.routeOptions.url?.slice(PATH.length)}`)
    if (req.headers.authorization !== `Bearer ${keys.notes}`)
      return refuse(reply, 401, 'unauthorized')
    if (req.headers['notion-version'] !== VERSION) return refuse(reply, 400, 'missing_version')
    if (faults.notes === 'down') return refuse(reply, 503, 'service_unavailable')
    if (faults.notes === 'hangs') return new Promise<never>(() => undefined)
    if (!limit(notes.perSecond))
      return refuse(reply.header('retry-after', '1'), 429, 'rate_limited')
    return undefined
  }
  const api = { preHandler }

  app.get<Ids>(`${PATH}/databases/:id`, api, (req, reply) => {
    const database = world.notes.databases.find(({ id }) => id === plain(req.params.id))
    return database ? shownDatabase(database) : refuse(reply, 404, 'object_not_found')
  })

  app.post<Ids>(`${PATH}/data_sources/:id/query`, api, (req, reply) => {
    const database = world.notes.databases.find(({ sourceId }) => sourceId === plain(req.params.id))
    if (!database) return refuse(reply, 404, 'object_not_found')
    const asked = Query.safeParse(req.body ?? {})
    if (!asked.success) return refuse(reply, 400, 'validation_error')
    const { page_size, start_cursor } = asked.data
    const fault = world.faults.notes
    const pages = listable(database, fault)
    const from = start_cursor ? pages.findIndex(({ id }) => id === start_cursor) : 0
    if (from < 0) return refuse(reply, 400, 'validation_error')
    if (fault === 'fails_half_way' && from > 0) return refuse(reply, 500, 'internal_server_error')
    return { ...listed(database, pages, { from, to: from + page_size }), ...endingOf(fault) }
  })

  app.patch<Ids>(`${PATH}/pages/:id`, api, (req, reply) => {
    const database = world.notes.databases.find(({ pages }) =>
      pages.some(({ id }) => id === plain(req.params.id)),
    )
    const page = database?.pages.find(({ id }) => id === plain(req.params.id))
    if (!database || !page) return refuse(reply, 404, 'object_not_found')
    if (page.in_trash) return refuse(reply, 400, 'validation_error')
    const patch = Patch.safeParse(req.body)
    if (!patch.success) return refuse(reply, 400, 'validation_error')
    for (const [name, { rich_text }] of Object.entries(patch.data.properties)) {
      if (database.properties[name] !== 'rich_text') return refuse(reply, 400, 'validation_error')
      page.values[name] = rich_text.map(({ text }) => text.content).join('')
    }
    page.edited_at = new Date().toISOString()
    return shownPage(database, page)
  })
}

const endingOf = (fault: World['faults']['notes']) => (fault === 'incomplete' ? INCOMPLETE : {})

const listable = ({ pages }: NotesDatabase, fault: World['faults']['notes']) =>
  fault === 'lists_trash' ? pages : pages.filter(({ in_trash }) => !in_trash)

function listed(
  database: NotesDatabase,
  pages: NotesPage[],
  { from, to }: { from: number; to: number },
) {
  const next = pages[to]
  return {
    object: 'list',
    type: 'page_or_data_source',
    page_or_data_source: {},
    results: pages.slice(from, to).map((page) => shownPage(database, page)),
    next_cursor: next?.id ?? null,
    has_more: next !== undefined,
  }
}

/** How a list ends at the most results of one query. */
const INCOMPLETE = {
  next_cursor: null,
  has_more: false,
  request_status: { type: 'incomplete', incomplete_reason: 'query_result_limit_reached' },
}

/** Ids are taken with dashes and without. */
const plain = (id: string) =>
  id.replaceAll('-', '').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

const refuse = (reply: FastifyReply, status: number, code: string) =>
  reply.code(status).send({ object: 'error', status, code, message: `The sandbox says ${code}` })

import { AppError } from '@guildhall/service/errors'
import { APIErrorCode, Client, isNotionClientError } from '@notionhq/client'
import { NotesPage } from './notes-shapes.ts'
import { type Pace, pacedFetch } from './paced-fetch.ts'

/** Most pages of one database; more are a mistake in the choice of the database. */
const MOST_PAGES = 10_000
const PAGE_SIZE = 100
const RETRIES = 5

/** How long the notes are given: what is not said is for work that nobody waits for. */
export interface Patience {
  retries?: number
  /** Of one attempt. */
  timeoutMs?: number
}

/** The notes of an org. */
export interface Notes {
  /** Every page of the database, of each of its sources. Throws 502 unless all could be read. */
  pages(databaseId: string): Promise<NotesPage[]>
  /** Writes the id of the page's event into its property gcal_id. */
  writeEventId(pageId: string, eventId: string): Promise<void>
}

/** The notes service (Notion) by its official client, which repeats what it was asked to repeat. */
export function openNotes(
  { url, key, pace }: { url: string; key: string; pace: Pace },
  signal: AbortSignal,
  { retries = RETRIES, ...timeout }: Patience = {},
): Notes {
  const notion = new Client({
    auth: key,
    baseUrl: url.replace(/\/+$/, ''),
    fetch: pacedFetch(pace, { key, signal, ...timeout }) as never, // its type knows no FormData of undici
    retry: { maxRetries: retries },
    logger: () => undefined,
  })
  return {
    pages: (database_id) => explained(() => readPages(notion, database_id)),
    writeEventId: (page_id, content) =>
      explained(async () => {
        const gcal_id = { rich_text: [{ text: { content } }] }
        await notion.pages.update({ page_id, properties: { gcal_id } })
      }),
  }
}

async function readPages(notion: Client, database_id: string): Promise<NotesPage[]> {
  const database = await notion.databases.retrieve({ database_id })
  if (!('data_sources' in database)) throw unreadable()
  const pages = new Map<string, NotesPage>()
  for (const { id: data_source_id } of database.data_sources) {
    for await (const found of listed(notion, data_source_id)) {
      const page = pageIn(found)
      if (!page.in_trash) pages.set(page.id, page)
      if (pages.size > MOST_PAGES) throw tooMany()
    }
  }
  return [...pages.values()]
}

/** Not by the iterator of the client, which ends without a word where the service lists only a part. */
async function* listed(notion: Client, data_source_id: string) {
  let start_cursor: string | null = null
  do {
    const asked = { data_source_id, page_size: PAGE_SIZE, ...(start_cursor && { start_cursor }) }
    const part = await notion.dataSources.query(asked)
    if (part.request_status && part.request_status.type !== 'complete') throw notWhole()
    if (part.has_more && !part.next_cursor) throw notWhole()
    yield* part.results
    start_cursor = part.next_cursor
  } while (start_cursor)
}

function pageIn(found: unknown): NotesPage {
  const page = NotesPage.safeParse(found)
  if (page.success) return page.data
  throw unreadable(page.error)
}

/** What an officer is told instead of what the client says. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    const [reason, message] = isNotionClientError(cause) ? said(cause.code) : AWAY
    throw new AppError('upstream', `notes.${reason}`, message, { cause })
  }
}

const AWAY = ['unreachable', 'The notes service does not answer; try again in a minute'] as const

function said(code: string): readonly [string, string] {
  switch (code) {
    case APIErrorCode.Unauthorized:
      return [
        'key_refused',
        'The notes service refuses the key: make a new one and set notes_api_key under Integrations',
      ]
    case APIErrorCode.RestrictedResource:
      return [
        'not_allowed',
        'The key may not do this at the notes service: let its connection read and update content',
      ]
    case APIErrorCode.ObjectNotFound:
      return [
        'not_found',
        'The notes service shows no such database or page: check notes_database_id, and share the database with the connection of the key',
      ]
    case APIErrorCode.RateLimited:
      return ['rate_limited', 'The notes service wants fewer requests; try again in some minutes']
    case APIErrorCode.ValidationError:
    case APIErrorCode.ConflictError:
      return ['refused', 'The notes service refuses the change of the page']
    default:
      return AWAY
  }
}

const unreadable = (cause?: unknown) =>
  new AppError(
    'upstream',
    'notes.unreadable',
    'The notes service described the database in a way that is not understood; tell the operator',
    { cause },
  )
const notWhole = () =>
  new AppError(
    'upstream',
    'notes.incomplete',
    'The notes service lists only a part of the database; move old pages into another, or choose one that holds the events alone',
  )
const tooMany = () =>
  new AppError(
    'conflict',
    'notes.too_many_pages',
    `The notes database has more than ${MOST_PAGES} pages; choose one that holds the events alone`,
  )

import { randomUUID } from 'node:crypto'

/** The notes service: databases that the key sees, each with its one source of pages. */
export interface NotesWorld {
  databases: NotesDatabase[]
  /** Requests so far: `PATCH /pages/:page_id`. */
  requests: string[]
  /** Requests of any one second, as the service allows them; more get 429. */
  perSecond?: number | undefined
}

export interface NotesDatabase {
  id: string
  sourceId: string
  title: string
  /** Names of the properties and their types. */
  properties: Record<string, 'title' | 'rich_text' | 'date' | 'select' | 'number'>
  pages: NotesPage[]
}

export interface NotesPage {
  id: string
  in_trash?: boolean
  edited_at: string
  /** Values by the names of properties: texts, or what the service calls a date. */
  values: Record<string, NotesValue>
}
export type NotesValue =
  | string
  | { start: string; end?: string | null; time_zone?: string | null }
  | null

/** What a database of events must have. */
export const EVENT_PROPERTIES = {
  Name: 'title',
  Date: 'date',
  Location: 'select',
  Description: 'rich_text',
  gcal_id: 'rich_text',
} as const

/** A database of events, with a page for each of `values`. */
export const notesDatabase = (
  title: string,
  values: NotesPage['values'][] = [],
): NotesDatabase => ({
  id: randomUUID(),
  sourceId: randomUUID(),
  title,
  properties: { ...EVENT_PROPERTIES },
  pages: values.map(notesPage),
})

export const notesPage = (values: NotesPage['values']): NotesPage => ({
  id: randomUUID(),
  edited_at: new Date().toISOString(),
  values,
})

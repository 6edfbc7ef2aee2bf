import type { NotesDatabase, NotesPage } from './world.ts'

/** A database as the notes service answers it. */
export const shownDatabase = ({ id, sourceId, title }: NotesDatabase) => ({
  object: 'database',
  id,
  title: textOf(title),
  description: [],
  parent: { type: 'workspace', workspace: true },
  is_inline: false,
  in_trash: false,
  archived: false,
  is_locked: false,
  created_time: STARTED,
  last_edited_time: STARTED,
  data_sources: [{ id: sourceId, name: title }],
  icon: null,
  cover: null,
  url: urlOf(id),
  public_url: null,
})

/** A page as the notes service answers it. */
export function shownPage({ id, sourceId, properties }: NotesDatabase, page: NotesPage) {
  const values = Object.entries(properties).map(([name, type], n) => {
    const value = page.values[name] ?? null
    const filled = typeof value === 'string' ? ofText(type, value) : value
    return [name, { id: `p${n}`, type, [type]: filled ?? emptyOf(type) }]
  })
  return {
    object: 'page',
    id: page.id,
    created_time: STARTED,
    last_edited_time: page.edited_at,
    created_by: PERSON,
    last_edited_by: PERSON,
    parent: { type: 'data_source_id', data_source_id: sourceId, database_id: id },
    in_trash: page.in_trash ?? false,
    archived: page.in_trash ?? false,
    is_locked: false,
    icon: null,
    cover: null,
    properties: Object.fromEntries(values),
    url: urlOf(page.id),
    public_url: null,
  }
}

const STARTED = '2026-01-01T00:00:00.000Z'
const PERSON = { object: 'user', id: '00000000-0000-4000-8000-000000000001' }
const urlOf = (id: string) => `https://www.notion.so/${id.replaceAll('-', '')}`

function ofText(type: string, value: string) {
  if (type === 'select') return { id: 'o1', name: value, color: 'default' }
  if (type === 'number') return Number(value)
  return textOf(value)
}

const emptyOf = (type: string) => (type === 'title' || type === 'rich_text' ? [] : null)

const ANNOTATIONS = {
  bold: false,
  italic: false,
  strikethrough: false,
  underline: false,
  code: false,
  color: 'default',
}
const textOf = (content: string) =>
  content === ''
    ? []
    : [
        {
          type: 'text',
          text: { content, link: null },
          annotations: ANNOTATIONS,
          plain_text: content,
          href: null,
        },
      ]

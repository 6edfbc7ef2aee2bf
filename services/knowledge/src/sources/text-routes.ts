import {
  getOrgSourceText,
  getSourceText,
  MOST_TEXT_CHARS,
  type SourceText,
} from '@guildhall/contracts/knowledge-dashboard'
import type { OrgRef } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { sourceByKey } from './queries.ts'
import { noSource } from './rules.ts'
import { pieceOfText } from './text-queries.ts'

export function textRoutes(app: App, deps: Deps) {
  app.implement(getSourceText, ({ org, query }) => textOf(deps, org, query))
  app.implement(getOrgSourceText, ({ org, query }) => textOf(deps, org, query))
}

async function textOf(
  { db }: Deps,
  org: OrgRef,
  { key, offset }: { key: string; offset: number },
): Promise<SourceText> {
  const source = await sourceByKey(db, org.id, key)
  if (!source) throw noSource(key)
  const { title, version } = source
  const none = { text: '', total_chars: 0 }
  const piece = version
    ? await pieceOfText(db, version.id, { offset, most: MOST_TEXT_CHARS })
    : none
  const end = offset + MOST_TEXT_CHARS
  return { key, title, ...piece, offset, next_offset: end < piece.total_chars ? end : null }
}

import { actorOf } from '@guildhall/contracts/event'
import { addDocument, type NewDocument } from '@guildhall/contracts/knowledge-documents'
import type { OrgRef } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import type { Writer } from '../db.ts'
import type { Deps } from '../deps.ts'
import { settingsOf } from '../settings/effective.ts'
import { checkPublisher } from '../sources/rules.ts'
import { writeSource } from '../sources/write.ts'
import { hashOfFile } from './rules.ts'

export function textDocumentRoutes(app: App, deps: Deps) {
  app.implement(addDocument, async ({ org, body, caller }, reply) => {
    checkPublisher(body, org, deps.config.KNOWLEDGE_PUBLISHERS)
    const { source, changed } = await writeText(deps, org, body, {
      source: 'http',
      ...actorOf(caller),
    })
    return reply.code(changed ? 201 : 200).send({ source })
  })
}

/** Cuts a text as an upload is cut, and writes it as a source; the same text again changes labels alone. */
async function writeText(deps: Deps, org: OrgRef, { text, ...labels }: NewDocument, by: Writer) {
  const settings = await settingsOf(deps, org.id)
  const { chunk_chars: chunkChars, chunk_overlap: chunkOverlap } = settings
  const { title } = labels
  const whose = { orgId: org.id, kind: 'upload' as const }
  const cuts = await deps.extractor.cut(text, { chunkChars, chunkOverlap, title }, whose)
  const passages = cuts.map((cut, ordinal) => ({ ordinal, level: 0, parent_ordinal: null, ...cut }))
  const content_hash = hashOfFile(Buffer.from(`${title}\n${text}`), settings)
  return writeSource(deps, org, { ...labels, content_hash, passages, vectors: null }, by)
}

import { createHash } from 'node:crypto'
import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import {
  documentsUploaded,
  SourceKey,
  type UploadedDocument,
  uploadDocuments,
} from '@guildhall/contracts/knowledge'
import type { OrgRef, UploadedFile } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { splitPassages } from '../passages/split.ts'
import { checkPublic } from '../sources/rules.ts'
import { vectorsOf } from '../sources/vectors.ts'
import { writeSource } from '../sources/write.ts'

export function documentRoutes(app: App, deps: Deps) {
  const { db, config } = deps

  app.implement(uploadDocuments, async ({ org, caller, body: { files, folder, ...labels } }) => {
    checkPublic(labels.public, org, config.KNOWLEDGE_PUBLISHERS)
    const done: UploadedDocument[] = []
    for (const file of files) {
      const key = keyOf(folder, file.name)
      const twice = done.some((one) => one.key === key)
      done.push(await upload(deps, org, caller, { file, key, ...labels }, twice))
    }
    const failed = done.filter(({ error }) => error !== null).length
    const indexed = done.filter(({ changed }) => changed).length
    const counts = { indexed, unchanged: done.length - indexed - failed, failed }
    await db
      .transaction()
      .execute((trx) => enqueue(trx, audit(documentsUploaded, caller, org, counts)))
    return { files: done, ...counts }
  })
}

const keyOf = (folder: string, name: string) =>
  `${folder}/${name}`.toLowerCase().replace(/[^a-z0-9._:/-]+/g, '-')

/** One failing file does not stop the others: its error stands in its place. */
async function upload(
  deps: Deps,
  org: OrgRef,
  caller: Caller,
  document: Document,
  twice: boolean,
): Promise<UploadedDocument> {
  const { file, key } = document
  try {
    if (!SourceKey.safeParse(key).success) throw unusableName(key)
    if (twice) throw new AppError('conflict', 'document.twice', `Another file here is ${key}`)
    const { chunks, changed } = await writeDocument(deps, org, caller, document)
    return { file: file.name, key, changed, chunks, error: null }
  } catch (error) {
    if (!(error instanceof AppError)) deps.log.error({ err: error, key }, 'A document failed')
    const said = error instanceof AppError ? error.message : 'Internal error'
    return { file: file.name, key: null, changed: false, chunks: 0, error: said }
  }
}

const unusableName = (key: string) =>
  new AppError(
    'invalid',
    'document.name',
    `The name gives the key ${key}, which is none; rename it`,
  )

interface Document {
  file: UploadedFile
  key: string
  category: string
  public: boolean
}

/** Reads a file and writes it as a source; the same bytes in passages of the same size change nothing. */
async function writeDocument(
  deps: Deps,
  org: OrgRef,
  caller: Caller,
  { file, key, ...labels }: Document,
) {
  const chunkChars = deps.config.KNOWLEDGE_CHUNK_CHARS
  const { title, text } = await deps.extractor.extract(file.name, file.bytes)
  const chunks = splitPassages(text, { chunkChars, title }).map((content, ordinal) => ({
    ordinal,
    content,
    level: 0,
    parent_ordinal: null,
  }))
  const content_hash = createHash('sha256')
    .update(file.bytes)
    .update(`\0${chunkChars}`)
    .digest('base64url')
  const vectors = () => vectorsOf(deps.embedder, { chunks })
  const changed = await writeSource(deps, org, caller, {
    ...labels,
    key,
    title,
    url: '',
    content_hash,
    chunks,
    vectors,
  })
  return { changed, chunks: chunks.length }
}

import type { KnowledgeSettings, UploadedDocument } from '@guildhall/contracts/knowledge'
import type { OrgRef, UploadedFile } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { Writer } from '../db.ts'
import type { Deps } from '../deps.ts'
import { noteRun } from '../runs/queries.ts'
import { settingsOf } from '../settings/effective.ts'
import { hasComing, sourceByKey } from '../sources/queries.ts'
import { type Draft, writeSource } from '../sources/write.ts'
import { hashOfFile, keyOfFile } from './rules.ts'

/** The gateway waits 300 s for an answer: by then what is done must be told. */
const UPLOAD_MS = 240_000
/** Longest key in a run (interface.md, Limits). */
const MOST_KEY_CHARS = 255

export interface Upload {
  files: UploadedFile[]
  folder: string
  category: string
  public: boolean
}

/**
 * Makes each file a source, one after the other, each with its run. A file that fails says why and stops none of the others.
 * What is not done after four minutes is refused.
 */
export async function uploadFiles(
  deps: Deps,
  org: OrgRef,
  upload: Upload,
  by: Writer,
): Promise<UploadedDocument[]> {
  const settings = await settingsOf(deps, org.id)
  const taken = new Map<string, string>()
  const end = deps.now().getTime() + UPLOAD_MS
  const results: UploadedDocument[] = []
  for (const file of upload.files) {
    const started_at = deps.now()
    const started = performance.now()
    const result = await uploadFile(deps, org, { file, upload, by, settings, taken, end })
    const duration_ms = Math.round(performance.now() - started)
    results.push(result)
    const { changed, chunks, error } = result
    const source_key = result.key ?? `${upload.folder}/${file.name}`.slice(0, MOST_KEY_CHARS)
    const times = { started_at, duration_ms }
    const run = { org_id: org.id, source_key, kind: 'upload' as const, changed, chunks, error }
    await noteRun(deps.db, { ...run, ...times })
  }
  return results
}

/** By all files of an upload. */
interface Shared {
  taken: Map<string, string>
  /** In milliseconds, by our clock. */
  end: number
}

async function uploadFile(
  deps: Deps,
  org: OrgRef,
  { taken, end, ...storing }: Omit<Storing, 'key' | 'signal'> & Shared,
): Promise<UploadedDocument> {
  const { file, upload } = storing
  const signal = AbortSignal.timeout(Math.max(0, end - deps.now().getTime()))
  const result = { file: file.name, key: null as string | null, changed: false, chunks: 0 }
  try {
    const key = keyOfFile(upload.folder, file.name)
    result.key = key
    const earlier = taken.get(key)
    if (earlier !== undefined) throw sameKey(earlier)
    taken.set(key, file.name)
    if (deps.now().getTime() >= end) throw late()
    return { ...result, ...(await storeFile(deps, org, { ...storing, key, signal })), error: null }
  } catch (error) {
    return { ...result, error: said(deps, isCutOff(error, signal) ? late() : error) }
  }
}

interface Storing {
  file: UploadedFile
  key: string
  upload: Upload
  by: Writer
  settings: KnowledgeSettings
  /** Ends the wait for the embedder. */
  signal: AbortSignal
}

async function storeFile(deps: Deps, org: OrgRef, storing: Storing) {
  const { file, key, upload, by, settings, signal } = storing
  const { chunk_chars: chunkChars, chunk_overlap: chunkOverlap } = settings
  const content_hash = hashOfFile(file.bytes, settings)
  const labels = { category: upload.category, public: upload.public, url: '' }
  const there = await sourceByKey(deps.db, org.id, key)
  const same =
    there?.version?.content_hash === content_hash && !(await hasComing(deps.db, there.id))
  if (same && there.category === labels.category && there.public === labels.public)
    return { changed: false, chunks: there.version?.chunk_count ?? 0 }

  const whose = { orgId: org.id, kind: 'upload' as const }
  const { title, text } = await deps.extractor.extract(file.name, file.bytes, whose)
  const cuts = await deps.extractor.cut(text, { chunkChars, chunkOverlap, title }, whose)
  const passages = cuts.map((cut, ordinal) => ({ ordinal, level: 0, parent_ordinal: null, ...cut }))
  const draft: Draft = { ...labels, key, title, content_hash, passages, vectors: null, signal }
  const { changed } = await writeSource(deps, org, draft, by)
  return { changed, chunks: passages.length }
}

const isCutOff = (error: unknown, signal: AbortSignal) =>
  signal.aborted && error instanceof AppError && error.code.startsWith('embeddings.')

const late = () =>
  new AppError(
    'unavailable',
    'document.late',
    `The upload took longer than ${UPLOAD_MS / 1000} seconds before this file was stored: send it again, with fewer others`,
  )

const sameKey = (earlier: string) =>
  new AppError(
    'conflict',
    'document.same_key',
    `The file ${earlier} of this upload has the same key: rename one of the two`,
  )

function said({ log }: Deps, error: unknown): string {
  if (error instanceof AppError) return error.message
  log.error({ err: error }, 'An uploaded file could not be stored')
  return 'Internal error; try this file again'
}

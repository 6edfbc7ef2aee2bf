import type { UploadedDocument } from '@guildhall/contracts/knowledge'
import type { OrgRef, UploadedFile } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { Writer } from '../db.ts'
import type { Deps } from '../deps.ts'
import { splitPassages } from '../passages/split.ts'
import { sourceByKey } from '../sources/queries.ts'
import { type Draft, writeSource } from '../sources/write.ts'
import { checkLength, hashOfFile, keyOfFile } from './rules.ts'

export interface Upload {
  files: UploadedFile[]
  folder: string
  category: string
  public: boolean
}

/** Makes each file a source, one after the other. A file that fails says why and stops none of the others. */
export async function uploadFiles(
  deps: Deps,
  org: OrgRef,
  upload: Upload,
  by: Writer,
): Promise<UploadedDocument[]> {
  const taken = new Map<string, string>()
  const results: UploadedDocument[] = []
  for (const file of upload.files) {
    const result = { file: file.name, key: null as string | null, changed: false, chunks: 0 }
    try {
      const key = keyOfFile(upload.folder, file.name)
      result.key = key
      const earlier = taken.get(key)
      if (earlier !== undefined) throw sameKey(earlier)
      taken.set(key, file.name)
      results.push({
        ...result,
        ...(await storeFile(deps, org, { file, key, upload, by })),
        error: null,
      })
    } catch (error) {
      results.push({ ...result, error: said(deps, error) })
    }
  }
  return results
}

interface Storing {
  file: UploadedFile
  key: string
  upload: Upload
  by: Writer
}

async function storeFile(deps: Deps, org: OrgRef, { file, key, upload, by }: Storing) {
  const chunkChars = deps.config.KNOWLEDGE_CHUNK_CHARS
  const content_hash = hashOfFile(file.bytes, chunkChars)
  const labels = { category: upload.category, public: upload.public, url: '' }
  const there = await sourceByKey(deps.db, org.id, key)
  const same = there?.version?.content_hash === content_hash
  if (same && there.category === labels.category && there.public === labels.public)
    return { changed: false, chunks: there.version?.chunk_count ?? 0 }

  const { title, text } = await deps.extractor.extract(file.name, file.bytes)
  checkLength(Math.ceil(text.replace(/\s+/g, '').length / chunkChars)) // before time goes into splitting
  const contents = splitPassages(text, { chunkChars, title })
  checkLength(contents.length)
  const passages = contents.map((content, ordinal) => ({
    ordinal,
    level: 0,
    parent_ordinal: null,
    content,
  }))
  const draft: Draft = { ...labels, key, title, content_hash, passages, vectors: null }
  const { changed } = await writeSource(deps, org, draft, by)
  return { changed, chunks: passages.length }
}

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

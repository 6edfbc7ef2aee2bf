import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Grades } from './quality-figures.ts'

export interface Collection {
  documents: { id: string; text: string }[]
  queries: { id: string; text: string; grades: Grades }[]
}

interface Line {
  id: string
  title?: string
  text: string
}

/**
 * Reads `documents.jsonl` {id, title, text}, `queries.jsonl` {id, text} and `qrels.tsv` (query_id, document_id, grade, with
 * a heading). A document is its title and text as one passage; empty documents and queries
 * without a judgement are left out.
 */
export async function readCollection(folder: string): Promise<Collection> {
  const [documents, queries, judged] = await Promise.all([
    lines(folder, 'documents.jsonl'),
    lines(folder, 'queries.jsonl'),
    readFile(join(folder, 'qrels.tsv'), 'utf8'),
  ])
  const grades = new Map<string, Map<string, number>>()
  for (const line of judged.trim().split('\n').slice(1)) {
    const [query = '', document = '', grade = ''] = line.split('\t')
    grades.set(query, (grades.get(query) ?? new Map()).set(document, Number(grade)))
  }
  return {
    documents: documents
      .map(({ id, title = '', text }) => ({ id, text: `${title}\n${text}`.trim() }))
      .filter(({ text }) => text !== ''),
    queries: queries.flatMap(({ id, text }) => {
      const own = grades.get(id)
      return own ? { id, text, grades: own } : []
    }),
  }
}

async function lines(folder: string, file: string): Promise<Line[]> {
  const text = await readFile(join(folder, file), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

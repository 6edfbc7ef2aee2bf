import { EMBEDDING_LENGTH } from '@guildhall/contracts/knowledge'
import {
  Bool,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  makeData,
  Schema,
  Table,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow'
import type { IndexRow } from './index.ts'
import { folded, wordsIn } from './query.ts'

const vectorType = new FixedSizeList(EMBEDDING_LENGTH, new Field('item', new Float32(), true))

/** `text` is searched by stems and phrases, `words` (each once, unstemmed) by likely spelling. */
export const ROW_SCHEMA = new Schema([
  new Field('id', new Utf8(), false),
  new Field('org', new Int32(), false),
  new Field('public', new Bool(), false),
  new Field('category', new Utf8(), false),
  new Field('version', new Utf8(), false),
  new Field('level', new Int32(), false),
  new Field('model', new Utf8(), true),
  new Field('text', new Utf8(), false),
  new Field('words', new Utf8(), false),
  new Field('vector', vectorType, true),
])

/** Rows as one Arrow batch, their lengths asserted: LanceDB takes these many times faster than objects. */
export function rowBatch(rows: readonly IndexRow[]): Table {
  const column = (type: Utf8 | Int32 | Bool, value: (row: IndexRow) => unknown) =>
    vectorFromArray(rows.map(value), type)
  return new Table(ROW_SCHEMA, {
    id: column(new Utf8(), (row) => row.id),
    org: column(new Int32(), (row) => row.org),
    public: column(new Bool(), (row) => row.public),
    category: column(new Utf8(), (row) => row.category),
    version: column(new Utf8(), (row) => row.version),
    level: column(new Int32(), (row) => row.level),
    model: column(new Utf8(), (row) => row.model),
    text: column(new Utf8(), (row) => folded(row.text)),
    words: column(new Utf8(), (row) =>
      [...new Set(wordsIn(folded(row.text).toLowerCase()))].join(' '),
    ),
    vector: vectorColumn(rows),
  })
}

/** Throws where a vector is of another length: a longer one would run into the next row. */
export function assertLengths(rows: readonly IndexRow[]): void {
  if (rows.some(({ vector }) => vector && vector.length !== EMBEDDING_LENGTH))
    throw new RangeError(`A vector has ${EMBEDDING_LENGTH} numbers`)
}

function vectorColumn(rows: readonly IndexRow[]): Vector<FixedSizeList<Float32>> {
  const values = new Float32Array(rows.length * EMBEDDING_LENGTH)
  const present = new Uint8Array(Math.ceil(rows.length / 8)) // a bit a row, lowest first
  for (const [index, { vector }] of rows.entries()) {
    if (!vector) continue
    values.set(vector, index * EMBEDDING_LENGTH)
    present[index >> 3] = (present[index >> 3] ?? 0) | (1 << (index & 7))
  }
  const child = makeData({ type: new Float32(), data: values })
  const nullCount = rows.filter(({ vector }) => !vector).length
  return new Vector([
    makeData({ type: vectorType, length: rows.length, nullCount, nullBitmap: present, child }),
  ])
}

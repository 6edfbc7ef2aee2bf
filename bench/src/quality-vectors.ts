import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createModel, LENGTH } from '@guildhall/sandbox/embeddings/model'

const BYTES = LENGTH * 4
const AT_ONCE = 64
const kept = new URL('../../.guildhall/cache/vectors/', import.meta.url).pathname

/** The demo model's vector of each text. They are kept in a file for later runs: 1 400 abstracts take minutes. */
export async function vectorsOf(texts: readonly string[]): Promise<Float32Array[]> {
  const file = join(kept, createHash('sha256').update(JSON.stringify(texts)).digest('hex'))
  const bytes = await readFile(file).catch(() => made(texts, file))
  return texts.map(
    (_, n) => new Float32Array(Uint8Array.from(bytes.subarray(n * BYTES, (n + 1) * BYTES)).buffer),
  )
}

async function made(texts: readonly string[], file: string): Promise<Buffer> {
  const model = createModel()
  const vectors: Float32Array[] = []
  for (let at = 0; at < texts.length; at += AT_ONCE) {
    vectors.push(...(await model.embed(texts.slice(at, at + AT_ONCE))))
  }
  await model.stop()
  const bytes = Buffer.concat(vectors.map(({ buffer }) => new Uint8Array(buffer as ArrayBuffer)))
  await mkdir(kept, { recursive: true })
  await writeFile(`${file}.new`, bytes)
  await rename(`${file}.new`, file)
  return bytes
}

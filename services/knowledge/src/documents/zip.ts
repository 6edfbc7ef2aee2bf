import { AppError } from '@guildhall/service/errors'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'

/** A Word document of some hundred pictures has some hundred parts. */
const MOST_PARTS = 10_000
/** decisions.md § 3. */
const MOST_XML_BYTES = 50 * 1024 * 1024

/**
 * The XML parts of an Office document by their paths; pictures and whatever else it holds stay packed. Both the sizes that it
 * declares and those that come out count, so memory stays bounded. Throws `document.too_large` and what yauzl throws for a
 * damaged archive, to which a part that unpacks to another size than it declares belongs.
 */
export async function xmlParts(bytes: Uint8Array): Promise<Map<string, Buffer>> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const zip = await fromBufferPromise(buffer, { lazyEntries: true })
  if (zip.entryCount > MOST_PARTS) throw tooLarge(`it has ${zip.entryCount} parts`)
  const entries: Entry[] = []
  let declared = 0
  for await (const entry of zip.eachEntry()) {
    if (!/\.(xml|rels)$/i.test(entry.fileName)) continue
    declared += entry.uncompressedSize
    if (declared > MOST_XML_BYTES) throw unpacksTooLarge()
    entries.push(entry)
  }
  const parts = new Map<string, Buffer>()
  for (const entry of entries) parts.set(entry.fileName, await unpacked(zip, entry))
  return parts
}

/** yauzl ends a stream that grows beyond the declared size. */
async function unpacked(zip: ZipFile, entry: Entry): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const unpacksTooLarge = () =>
  tooLarge(`its text unpacks to more than ${MOST_XML_BYTES / 1024 / 1024} MB`)

const tooLarge = (why: string) =>
  new AppError(
    'too_large',
    'document.too_large',
    `The document is too large to read: ${why}. Split it and send the parts.`,
  )

import { services } from '@guildhall/contracts/names'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { readArchive } from './archive.ts'
import { ENTRIES, FORMAT, type Head } from './backup.ts'
import { revisionsOfBuild } from './migrations.ts'

const Revisions = z.array(z.object({ name: z.string(), checksum: z.string() }))
const HeadShape = z.object({
  format: z.literal(FORMAT),
  mode: z.enum(['demo', 'real']).nullable(),
  key_ids: z.record(z.string(), z.string()),
  taken_at: z.iso.datetime(),
  revisions: z.record(z.string(), Revisions),
  tables: z.array(
    z.object({ schema: z.string(), table: z.string(), columns: z.array(z.string()) }),
  ),
  sequences: z.array(
    z.object({
      schema: z.string(),
      sequence: z.string(),
      last_value: z.string(),
      is_called: z.boolean(),
    }),
  ),
}) satisfies z.ZodType<Head>

/** A backup that was read to its end: whole, of this build's revisions. */
export interface Checked {
  head: Head
  /** Rows of each `schema.table`. */
  rows: Record<string, number>
  /** Sealed; nothing where the backup has none. */
  keys: Buffer | undefined
}

/** Reads a backup once through. Throws where it is damaged, cut, no backup, or of other revisions. */
export async function readChecked(file: string): Promise<Checked> {
  const found = new Map<string, Buffer>()
  const wanted: readonly string[] = Object.values(ENTRIES)
  await readArchive(file, async (name, content) => {
    if (wanted.includes(name)) found.set(name, content)
  })
  const head = parsed(file, HeadShape, found.get(ENTRIES.head))
  const rows = parsed(file, z.record(z.string(), z.int()), found.get(ENTRIES.counts))
  await checkRevisions(head)
  return { head, rows, keys: found.get(ENTRIES.keys) }
}

function parsed<S extends z.ZodType>(file: string, schema: S, content: Buffer | undefined) {
  try {
    return schema.parse(JSON.parse(String(content)))
  } catch (cause) {
    const message = `${file} is no backup that this build reads: make it with operator backup, and restore it with the build that made it`
    throw new AppError('invalid', 'backup.unknown', message, { cause })
  }
}

async function checkRevisions({ revisions }: Head) {
  for (const service of services) {
    const [ours, theirs] = [await revisionsOfBuild(service), revisions[service] ?? []]
    const key = (list: typeof ours) => list.map(({ name, checksum }) => name + checksum).join()
    if (key(ours) === key(theirs)) continue
    const at = (list: typeof ours) => list.at(-1)?.name ?? 'none'
    const message = `The backup has ${service} at revision ${at(theirs)} (${theirs.length} in all), this build at ${at(ours)} (${ours.length}): restore with the build that made it, then upgrade`
    throw new AppError('conflict', 'backup.other_revision', message)
  }
}

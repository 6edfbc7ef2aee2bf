import { finished } from 'node:stream/promises'
import { resendAll } from '@guildhall/bus/resend'
import { services } from '@guildhall/contracts/names'
import type { FillOf, Query } from '@guildhall/db/refill'
import { readArchive } from './archive.ts'
import type { Checked } from './checked-backup.ts'

const DAY_MS = 24 * 3_600_000

/** Copies the rows in; what is there but belongs to the moment of the backup is then put right. */
export async function fillFrom(
  file: string,
  { head, rows }: Checked,
  fillOf: FillOf,
  query: Query,
) {
  let open: { name: string; into: ReturnType<FillOf> } | undefined
  const close = async () => {
    if (!open) return
    open.into.end()
    await finished(open.into)
    if (open.into.rowCount !== rows[open.name])
      throw new Error(`${open.name} got ${open.into.rowCount} rows, not ${rows[open.name]}`)
    open = undefined
  }
  await readArchive(file, async (entry, content) => {
    const [schema = '', name = '', part] = entry.split('/')
    if (!part) return
    if (open?.name !== `${schema}.${name}`) {
      await close()
      const shape = head.tables.find((one) => one.schema === schema && one.table === name)
      if (!shape) throw new Error(`The backup has rows of ${entry}, which it does not list`)
      open = { name: `${schema}.${name}`, into: fillOf(shape) }
    }
    await write(open.into, content)
  })
  await close()
  const since = new Date(Date.parse(head.taken_at) - DAY_MS)
  for (const service of services) await resendAll(query, service, since)
  // no index that may be there was made of these rows: knowledge makes a new one at its start
  await query('delete from knowledge.search_index')
}

function write(into: ReturnType<FillOf>, content: Buffer) {
  return new Promise<void>((done, failed) => {
    into.once('error', failed)
    into.write(content, (error) => {
      into.off('error', failed)
      if (error) failed(error)
      else done()
    })
  })
}

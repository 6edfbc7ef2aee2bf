import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PodRecord } from './shapes.ts'

const FILE = 'pod.json'

/** It holds the pod's environment: for its owner alone. */
export async function saveRecord(folder: string, record: PodRecord): Promise<void> {
  const file = join(folder, FILE)
  await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600 })
  await rename(`${file}.new`, file)
}

/** Every pod below `folder`. What is no pod, or begins with `gone`, is removed: a killed sandbox left it. */
export async function loadRecords(folder: string, gone: string): Promise<PodRecord[]> {
  const records: PodRecord[] = []
  for (const name of await readdir(folder)) {
    const own = join(folder, name)
    const text = await readFile(join(own, FILE), 'utf8').catch(() => undefined)
    if (text && !name.startsWith(gone)) records.push(PodRecord.parse(JSON.parse(text)))
    else await rm(own, { recursive: true, force: true })
  }
  return records
}

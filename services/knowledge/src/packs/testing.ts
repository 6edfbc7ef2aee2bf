import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'

/** A folder of packs; `put` writes one, as an operator would. */
export async function packFolder(t: Pick<TestContext, 'after'>) {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-packs-'))
  cleanUp(t, () => rm(dir, { recursive: true, force: true }))
  async function put(name: string, file: object | string, module?: string) {
    await mkdir(join(dir, name), { recursive: true })
    const text = typeof file === 'string' ? file : JSON.stringify({ ...HEAD, name, ...file })
    await writeFile(join(dir, name, 'pack.json'), text)
    if (module !== undefined) await writeFile(join(dir, name, 'queries.ts'), module)
  }
  return { dir, put }
}

const HEAD = { title: 'Test', description: 'A pack of a test.' }

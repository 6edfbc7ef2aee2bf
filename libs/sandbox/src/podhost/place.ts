import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Log } from '@guildhall/service/log'
import { findOpenssh } from './openssh.ts'

export interface PlaceOptions {
  /** Pods live in its folder `pods`; a temporary one, removed at the end, where nothing is said. */
  home?: string | undefined
  /** Where OpenSSH is unpacked if the machine lacks it; `home` where nothing is said. */
  programs?: string | undefined
  /** The process's own: what apt needs, such as a proxy. */
  env: Readonly<Record<string, string | undefined>>
  log: Log
}

export type Place = ReturnType<typeof createPlace>

/** Where pods lie and what they run; nothing is made or fetched before the first pod. */
export function createPlace({ home, programs, env, log }: PlaceOptions) {
  let made: Promise<string> | undefined
  let openssh: Promise<string> | undefined
  const root = () => {
    made ??= makeRoot(home)
    return made
  }
  const find = async () => findOpenssh({ home: programs ?? (await root()), env, log })
  return {
    /** Pods do not outlive the sandbox. */
    temporary: home === undefined,
    folder: async (name = '') => join(await root(), 'pods', name),
    /** See `findOpenssh`. What failed is tried again at the next call. */
    async openssh(): Promise<string> {
      openssh ??= find()
      try {
        return await openssh
      } catch (error) {
        openssh = undefined
        throw error
      }
    },
    async close() {
      if (home === undefined && made) await rm(await made, { recursive: true, force: true })
    },
  }
}

async function makeRoot(home: string | undefined): Promise<string> {
  const root = home === undefined ? await mkdtemp(join(tmpdir(), 'guildhall-pods-')) : resolve(home)
  await mkdir(join(root, 'pods'), { recursive: true, mode: 0o700 })
  return root
}

import assert from 'node:assert/strict'
import { writeFile as writeLocal } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  deleteFile,
  downloadFile,
  listFiles,
  makeFolder,
  readFile,
  renameFile,
  uploadFile,
  writeFile,
} from '@guildhall/contracts/pod-files'
import { createSealer } from '@guildhall/outbound/sealed'
import { sshOptions, testKeys } from '@guildhall/sandbox/podhost/testing'
import { openKey, SEALED_USE } from '../keys/keys.ts'
import { opensshPrivateKey } from '../keys/openssh.ts'
import { officer, runningPodOf, testOnPods } from '../testing.ts'

/** An officer before a pod that runs, and root's shell on it. */
export async function opened(t: TestContext) {
  const compute = await testOnPods(t)
  const pod = await runningPodOf(compute)
  const params = { org: 'org1', pod_id: pod.id }
  const as = compute.as(officer())
  return {
    ...compute,
    pod,
    params,
    as,
    list: (path?: string) => as.call(listFiles, { params, query: path ? { path } : {} }),
    read: (path: string) => as.call(readFile, { params, body: { path } }),
    write: (path: string, content: string) =>
      as.call(writeFile, { params, body: { path, content } }),
    upload: (path: string, file: File) => as.call(uploadFile, { params, body: { path, file } }),
    download: (path: string) => as.call(downloadFile, { params, body: { path } }),
    mkdir: (path: string) => as.call(makeFolder, { params, body: { path } }),
    rename: (old_path: string, new_path: string) =>
      as.call(renameFile, { params, body: { old_path, new_path } }),
    remove: (path: string) => as.call(deleteFile, { params, body: { path } }),
  }
}

/** The status of an answer and the code of a refusal. */
export const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { code?: string }).code,
]

/** Runs commands on the pod as the system's ssh does with the org's backend key, and answers what they print. */
export async function rootOf(
  t: TestContext,
  { db, pod, settings }: Pick<Opened, 'db' | 'pod' | 'settings'>,
) {
  const { folder, run } = await testKeys(t)
  const sealer = createSealer(settings.SECRETS_KEY, SEALED_USE)
  const key = join(folder, 'org')
  const text = opensshPrivateKey(await openKey({ db, sealer }, 1, 'backend'))
  await writeLocal(key, text, { mode: 0o600 })
  return async (command: string) => {
    const where = ['-p', String(pod.port), 'root@127.0.0.1', command]
    const { code, stdout, stderr } = await run('ssh', [...sshOptions(key), ...where])
    assert.equal(code, 0, stderr)
    return stdout
  }
}

export type Opened = Awaited<ReturnType<typeof opened>>

import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createPod, getPod } from '@guildhall/contracts/compute'
import { connectToPod } from '@guildhall/contracts/connect'
import { downloadFile, uploadFile } from '@guildhall/contracts/pod-files'
import { sshOptions } from '@guildhall/sandbox/podhost/testing'
import { until } from '@guildhall/service/testing'
import { type Client, clientOf } from '@guildhall/test-e2e/people'
import type { Rate } from './compute.ts'

const run = promisify(execFile)
const MB = 1_000_000
/** Any key: what is measured is the signing of certificates for it. */
export const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHcWQ6mQn5vUDGwsO4j1bZbrbzU1CLsGBrRFYOkLRSxM'

/** A pod of Demo Club, once it runs. */
export async function runningPod(officer: Client): Promise<string> {
  const made = await officer.call(createPod, { params: { org: 'demo' }, body: {} })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  const { id } = made.body.pod
  await until(async () => {
    const seen = await officer.call(getPod, { params: { org: 'demo', pod_id: id } })
    return seen.status === 200 && seen.body.pod.status === 'RUNNING'
  }, 60_000)
  return id
}

async function rateOf(bytes: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return bytes / MB / ((performance.now() - began) / 1000)
}

/** A file up and down through the gateway. */
export async function transferRates({
  url,
  token,
  pod,
  bytes,
}: {
  url: string
  token: string
  pod: string
  bytes: Uint8Array<ArrayBuffer>
}): Promise<Rate> {
  const officer = clientOf(url, token)
  const params = { org: 'demo', pod_id: pod }
  const file = new File([bytes], 'ours.bin')
  const up = await rateOf(bytes.length, async () => {
    const { status, body } = await officer.call(uploadFile, {
      params,
      body: { path: '/workspace', file },
    })
    if (status !== 200) throw new Error(JSON.stringify(body))
  })
  const down = await rateOf(bytes.length, async () => {
    const got = await officer.call(downloadFile, { params, body: { path: '/workspace/ours.bin' } })
    if (got.status !== 200) throw new Error(JSON.stringify(got.body))
    let length = 0
    for await (const chunk of got.body) length += chunk.length
    if (length !== bytes.length) throw new Error(`${length} of ${bytes.length} bytes came`)
  })
  return { up, down }
}

interface Access {
  url: string
  token: string
  pod: string
  home: string
}

/** The same file with the system's sftp and an officer's certificate, its own start included. */
export async function sftpRates(access: Access, file: string, bytes: number): Promise<Rate> {
  const { options, target } = await signedIn(access)
  const sftp = (command: string) =>
    rateOf(bytes, async () => {
      const batch = join(access.home, 'batch')
      await writeFile(batch, `${command}\n`)
      await run('sftp', ['-q', '-b', batch, ...options, target])
    })
  const up = await sftp(`put ${file} /workspace/theirs.bin`)
  const down = await sftp(`get /workspace/theirs.bin ${file}.got`)
  await rm(`${file}.got`)
  return { up, down }
}

async function signedIn({ url, token, pod, home }: Access) {
  const key = join(home, 'key')
  await rm(key, { force: true })
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const public_key = await readFile(`${key}.pub`, 'utf8')
  const params = { org: 'demo', pod_id: pod }
  const given = await clientOf(url, token).call(connectToPod, { params, body: { public_key } })
  if (given.status !== 200) throw new Error(JSON.stringify(given.body))
  const { host, port, username, certificate } = given.body
  await writeFile(`${key}-cert.pub`, `${certificate}\n`)
  const options = [...sshOptions(key, `${key}-cert.pub`), '-P', `${port}`]
  return { options, target: `${username}@${host}` }
}

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanUp } from '@guildhall/service/testing'

const run = promisify(execFile)

/**
 * The machine's own ssh-keygen in a folder of the test. Where it is missing and the test runs as root, it
 * installs Debian's package openssh-client, and says so; else it throws what to install.
 */
export async function openSsh(t: TestContext) {
  await ensureKeygen(t)
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-ssh-'))
  cleanUp(t, () => rm(dir, { recursive: true, force: true }))
  let made = 0
  return {
    /** A new public key, as `ssh-keygen <args>` writes it. */
    async key(...args: string[]): Promise<string> {
      const file = join(dir, `key${made++}`)
      await run('ssh-keygen', ['-q', '-N', '', '-f', file, ...args])
      return (await readFile(`${file}.pub`, 'utf8')).trim()
    },
    /** What `ssh-keygen -L` tells of a certificate, line by line. */
    async read(certificate: string): Promise<string[]> {
      const file = join(dir, `cert${made++}.pub`)
      await writeFile(file, `${certificate}\n`)
      const { stdout } = await run('env', ['TZ=UTC', 'ssh-keygen', '-L', '-f', file])
      return stdout.split('\n').map((line) => line.trim())
    },
  }
}

async function ensureKeygen(t: TestContext) {
  if (await run('ssh-keygen', ['-?']).catch(isMissing)) return
  if (process.getuid?.() !== 0)
    throw new Error('This test needs ssh-keygen: install the package openssh-client')
  t.diagnostic('ssh-keygen is missing: installing openssh-client from Debian')
  await run('apt-get', ['install', '-y', '--no-install-recommends', 'openssh-client'])
}

/** ssh-keygen answers its usage with an exit code, which is enough. */
const isMissing = ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT'

import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'

/** What a pod runs of OpenSSH. */
const PROGRAMS = ['usr/sbin/sshd', 'usr/lib/openssh/sftp-server', 'usr/bin/ssh-keygen']
const PACKAGES = ['openssh-server', 'openssh-sftp-server', 'openssh-client']

const MISSING = `sshd was not found, which the sandbox's pods run. Do one of:
  Debian:  apt-get install openssh-server
  else:    set the credentials of a real pod host for your club`

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Where OpenSSH's `usr` folder is: `/` where the system has it, else the copy under `home`, else Debian's or
 * Ubuntu's packages unpacked there, with those that they need and the system lacks; one need not be root for
 * that. Throws AppError `openssh.missing` with what to do.
 */
export async function findOpenssh(options: {
  home: string
  log: Log
  /** The process's own: PATH, and what apt needs, such as a proxy. */
  env: Environment
}): Promise<string> {
  const { log, env } = options
  const unpacked = join(resolve(options.home), 'openssh')
  for (const root of ['/', unpacked]) if (await hasAll(root)) return root
  log.info('fetching OpenSSH from the Debian archive (first pod only)')
  await mkdir(options.home, { recursive: true })
  const made = await mkdtemp(`${unpacked}.new-`)
  try {
    await download(made, env)
    const archives = join(made, 'cache/archives')
    for (const name of await readdir(archives)) {
      if (!name.endsWith('.deb')) continue
      await run('dpkg-deb', ['-x', join(archives, name), join(made, 'root')], env)
    }
    await rename(join(made, 'root'), unpacked).catch(async (error) => {
      if (!(await hasAll(unpacked))) throw error // else: another start was faster
    })
  } catch (cause) {
    const message = `${MISSING}\nFetching it did not work: ${(cause as Error).message}`
    throw new AppError('unavailable', 'openssh.missing', message, { cause })
  } finally {
    await rm(made, { recursive: true, force: true })
  }
  return unpacked
}

async function hasAll(root: string): Promise<boolean> {
  const found = PROGRAMS.map((path) => access(join(root, path), constants.X_OK))
  return (await Promise.allSettled(found)).every(({ status }) => status === 'fulfilled')
}

/** Where the system has no package lists (slim images) they are fetched into `folder`; the system stays as it was. */
async function download(folder: string, env: Environment): Promise<void> {
  await mkdir(join(folder, 'cache/archives/partial'), { recursive: true })
  await mkdir(join(folder, 'lists/partial'), { recursive: true })
  const own = ['-qq', '-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache=${folder}/cache`]
  const get = ['-o', 'Debug::NoLocking=1', '-y', '--no-install-recommends', '--download-only']
  try {
    await run('apt-get', [...own, ...get, 'install', ...PACKAGES], env)
  } catch {
    const lists = ['-o', `Dir::State::Lists=${folder}/lists`]
    await run('apt-get', [...own, ...lists, 'update'], env)
    await run('apt-get', [...own, ...lists, ...get, 'install', ...PACKAGES], env)
  }
}

const run = (command: string, args: string[], env: Environment) =>
  promisify(execFile)(command, args, { env: { ...env, LC_ALL: 'C' } })

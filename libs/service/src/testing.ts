import { after, type TestContext } from 'node:test'
import { createClient } from '@guildhall/contracts/client'
import { CALLER_HEADER, callerKey, type Identity, signIdentity } from './caller-token.ts'

/** A typed client of one service that speaks as the gateway would for this identity. */
export function clientAs(
  url: string,
  internalKey: string,
  identity: Partial<Identity>,
  headers: Record<string, string> = {},
) {
  return createClient((path, init, route) => {
    const target = { service: route.owner, method: route.method, path }
    const signed = signIdentity(
      { caller: { kind: 'public' }, org: undefined, request_id: 'test', ...identity },
      target,
      callerKey(internalKey, route.owner),
    )
    return fetch(url + path, {
      ...init,
      headers: { ...init.headers, ...headers, [CALLER_HEADER]: signed },
    })
  })
}

/** Waits until `check` answers something other than undefined or false; throws after `ms`. */
export async function until<T>(
  check: () => T | Promise<T>,
  ms = 30_000,
): Promise<Exclude<NonNullable<T>, false>> {
  const end = Date.now() + ms
  let last: unknown
  while (Date.now() < end) {
    const value = await Promise.resolve(check()).catch((error) => {
      last = error
      return undefined
    })
    if (value) return value as Exclude<NonNullable<T>, false>
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`Waited ${ms} ms in vain`, { cause: last })
}

type Test = Pick<TestContext, 'after'>
const cleanups = new WeakMap<Test, AsyncDisposableStack>()

/** Runs `work` after the test; what was opened last is closed first (`t.after` alone does the opposite). */
export function cleanUp(t: Test, work: () => PromiseLike<unknown>) {
  let stack = cleanups.get(t)
  if (!stack) {
    stack = new AsyncDisposableStack()
    const all = stack
    cleanups.set(t, all)
    t.after(() => all.disposeAsync())
  }
  stack.defer(async () => {
    await work()
  })
}

/** Stands for all tests of a file, as the `t` of what its `before` opens. Made at the top of the file. */
export function wholeFile(): Test {
  const opened = new AsyncDisposableStack()
  after(() => opened.disposeAsync())
  return { after: (work) => opened.defer(work as () => Promise<void>) }
}

/** Runs `work` while a process hangs. */
export async function whileStopped(pid: number, work: () => Promise<void>) {
  process.kill(pid, 'SIGSTOP')
  try {
    await work()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the ports that systems give to outgoing connections, so that none of those takes it in between. */
const [LOWEST, HIGHEST] = [10_000, 32_767]

/** A port of this machine that is free now; whoever takes it in between makes the start fail with its name. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST + 1)
    if (await isFree(port)) return port
  }
}

/** One for each name. */
export async function freePorts(names: string[]): Promise<Record<string, number>> {
  const ports = new Set<number>()
  while (ports.size < names.length) ports.add(await freePort())
  return Object.fromEntries(names.map((name, n) => [name, [...ports][n] ?? 0]))
}

function isFree(port: number) {
  const server = createServer()
  return new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

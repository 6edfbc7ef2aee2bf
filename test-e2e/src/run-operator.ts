import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { TestStack } from './stack.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** `npm run operator -- …` against a running stack; `more` is its further environment. */
export function operatorAt({ settings, home }: Pick<TestStack, 'settings' | 'home'>, more = {}) {
  const env = { ...settings, GUILDHALL_HOME: home, PORT: '', ...more }
  return async (...args: string[]) => {
    const command = spawn(process.execPath, ['scripts/src/operator.ts', ...args], {
      cwd: root,
      env,
    })
    const [out, err, [code]] = await Promise.all([
      text(command.stdout),
      text(command.stderr),
      once(command, 'exit'),
    ])
    return { code: code as number, out, err }
  }
}

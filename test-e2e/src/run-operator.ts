import { operate } from '@guildhall/scripts/operator/operate'
import type { TestStack } from './stack.ts'

/** `npm run operator -- …` against a running stack, in this process; `more` is its further environment. */
export function operatorAt({ settings, home }: Pick<TestStack, 'settings' | 'home'>, more = {}) {
  const env = { ...settings, GUILDHALL_HOME: home, PORT: '', ...more }
  return (...args: string[]) => operate(args, env)
}

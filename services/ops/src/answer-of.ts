import { ask } from '@guildhall/bus/calls'
import type { Call } from '@guildhall/contracts/call'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'
import type { Deps } from './deps.ts'

/** What a service answers within two seconds; nothing where it does not, says that it cannot, or answers what is no answer. */
export async function answerOf<C extends Call>(
  { bus, log }: Pick<Deps, 'bus' | 'log'>,
  call: C,
  args: z.input<C['args']>,
): Promise<z.output<C['reply']> | undefined> {
  try {
    return await ask(bus, call, args)
  } catch (error) {
    const level = error instanceof AppError ? 'warn' : 'error'
    log[level]({ err: error, call: call.name, asked: call.service }, 'A service does not answer')
    return undefined
  }
}

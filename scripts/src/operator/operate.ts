import { parseArgs } from 'node:util'
import type { Env } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { isPlain } from '../explain.ts'
import { type Command, commands, flags, type Given } from './commands.ts'
import { UsageError } from './context.ts'

/** What a command has said: exit code 0 when done, 1 on a fault, 2 when called wrongly. */
export interface Answer {
  code: number
  out: string
  err: string
}

/** Runs `npm run operator -- <args>` in an environment. */
export async function operate(args: string[], env: Env): Promise<Answer> {
  const asJson = args.includes('--json')
  try {
    return await run(args, env)
  } catch (error) {
    const { code, message, exit, help = '' } = refusalOf(error as Error)
    return said(asJson ? JSON.stringify({ error: message, code }) : message + help, exit)
  }
}

async function run(args: string[], env: Env): Promise<Answer> {
  const { values, positionals } = parse(args)
  const { json, help, ...given } = values
  const command = commands.find(({ words }) => `${positionals.join(' ')} `.startsWith(`${words} `))
  if (!command && (help || positionals.length === 0)) return said(helpOf(commands), 0)
  if (!command) throw new Misused(`There is no command ${positionals.join(' ')}`, commands)
  if (help) return said(helpOf([command]), 0)
  const [operand, ...surplus] = positionals.slice(command.words.split(' ').length)
  const extra = command.operand ? surplus[0] : operand
  if (extra !== undefined) throw new Misused(`${command.words} takes no ${extra}`, [command])
  const stray = Object.keys(given).find((name) => !(command.flags as string[]).includes(name))
  if (stray) throw new Misused(`${command.words} takes no --${stray}`, [command])
  const { text, json: data, fault } = await command.run(env, operand, given as Given)
  const code = fault ? 1 : 0
  return json ? { code, out: line(JSON.stringify(data, null, 2)), err: '' } : said(text, code)
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { ...flags, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    throw new Misused((error as Error).message, commands)
  }
}

/** A call that no command takes, with those that were meant. */
class Misused extends Error {
  list: readonly Command[]
  constructor(what: string, list: readonly Command[]) {
    super(what)
    this.list = list
  }
}

/** How commands are called and what they do. */
function helpOf(list: readonly Command[]) {
  const entries = list.map(({ words, operand, usage, summary }) => {
    const call = [words, operand, usage].filter(Boolean).join(' ')
    return `  ${call}\n      ${summary}\n`
  })
  return `Usage: npm run operator -- <command> [--json] [--help]\n\n${entries.join('')}`
}

const line = (text: string) => (text.endsWith('\n') ? text : `${text}\n`)

const said = (text: string, code: number): Answer =>
  code === 0 ? { code, out: line(text), err: '' } : { code, out: '', err: line(text) }

interface Refusal {
  code: string
  message: string
  exit: number
  /** For a person: what might have been meant. */
  help?: string
}

function refusalOf(error: Error): Refusal {
  const { message } = error
  if (error instanceof Misused)
    return { code: 'command.misused', message, exit: 2, help: `\n\n${helpOf(error.list)}` }
  if (error instanceof UsageError) return { code: 'command.misused', message, exit: 2 }
  if (error instanceof z.ZodError)
    return { code: 'command.invalid', message: z.prettifyError(error), exit: 2 }
  if (error instanceof AppError) return { code: error.code, message, exit: 1 }
  return {
    code: 'command.failed',
    message: isPlain(error) ? message : String(error.stack),
    exit: 1,
  }
}

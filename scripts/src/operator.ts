import { parseArgs } from 'node:util'
import { SettingsError } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { loadDotEnv } from './home.ts'
import { type Command, commands, flags, type Given } from './operator/commands.ts'
import { UsageError } from './operator/context.ts'

const asJson = process.argv.includes('--json')

/** `npm run operator -- …`: exits with 0 when done, 1 on a fault, 2 when called wrongly. */
async function main() {
  loadDotEnv()
  const { values, positionals } = parse()
  const { json, help, ...given } = values
  const command = commands.find(({ words }) => `${positionals.join(' ')} `.startsWith(`${words} `))
  if (!command && (help || positionals.length === 0)) return say(helpOf(commands), 0)
  if (!command) return misused(`There is no command ${positionals.join(' ')}`, commands)
  if (help) return say(helpOf([command]), 0)
  const [operand, ...surplus] = positionals.slice(command.words.split(' ').length)
  const extra = command.operand ? surplus[0] : operand
  if (extra !== undefined) return misused(`${command.words} takes no ${extra}`, [command])
  const stray = Object.keys(given).find((name) => !(command.flags as string[]).includes(name))
  if (stray) return misused(`${command.words} takes no --${stray}`, [command])
  const said = await command.run(process.env, operand, given as Given)
  const code = said.fault ? 1 : 0
  if (!json) return say(said.text, code)
  return print(process.stdout, JSON.stringify(said.json, null, 2), code)
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { ...flags, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    return misused((error as Error).message, commands)
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

const misused = (what: string, list: readonly Command[]) =>
  asJson ? fail('command.misused', what, 2) : say(`${what}\n\n${helpOf(list)}`, 2)

const fail = (code: string, message: string, exit: number) =>
  asJson
    ? print(process.stderr, JSON.stringify({ error: message, code }), exit)
    : say(message, exit)

const say = (text: string, code: number) =>
  print(code === 0 ? process.stdout : process.stderr, text, code)

/** A pipe takes what is written before the process ends. */
function print(out: NodeJS.WriteStream, text: string, code: number): never {
  out.write(text.endsWith('\n') ? text : `${text}\n`)
  process.exit(code)
}

await main().catch((error: Error) => {
  if (error instanceof z.ZodError) return fail('command.invalid', z.prettifyError(error), 2)
  if (error instanceof AppError) return fail(error.code, error.message, 1)
  if (error instanceof UsageError) return fail('command.misused', error.message, 2)
  const plain = error instanceof SettingsError
  return fail('command.failed', plain ? error.message : String(error.stack), 1)
})

import type { Bus } from '@guildhall/bus/connect'
import { botCommands, type CommandName } from '@guildhall/contracts/bot'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { counter, spend } from '@guildhall/service/rate'
import { inTrace, ofOrg, traceFrom } from '@guildhall/service/trace'
import { type ChatInputCommandInteraction, MessageFlags } from 'discord.js'
import { find, orgOf } from './find.ts'
import { type Asked, run } from './run.ts'

/** Commands of one member; each costs several services. */
const MOST_PER_MINUTE = 20
const FAULT = 'Something went wrong here; try again in a minute. The operators were told.'

/** Answers one command in its time. Never throws: whatever happens, the member is told a sentence. */
export function createAnswer(bus: Bus, log: Log) {
  const commands = counter(MOST_PER_MINUTE)

  async function textOf(interaction: ChatInputCommandInteraction): Promise<string> {
    const { commandName: name, guildId, user, options } = interaction
    if (!isCommand(name)) throw unknownCommand()
    await spend(commands, user.id)
    const org = await orgOf(bus, guildId)
    ofOrg(org.id)
    const asked: Asked = {
      org,
      options,
      find: (command, input = {}) =>
        find(bus, command, { org, chat_user_id: user.id, username: user.username, input }),
    }
    return run[name](asked)
  }

  function told(error: unknown, command: string): string {
    if (error instanceof AppError) return error.message
    log.error({ err: error, command }, 'A command of the bot failed')
    return FAULT
  }

  async function answer(interaction: ChatInputCommandInteraction) {
    const { commandName: name } = interaction
    const isShared = isCommand(name) && 'shared' in botCommands[name]
    // within the three seconds that the platform waits for a first answer; the text may take longer
    await interaction.deferReply(isShared ? {} : { flags: MessageFlags.Ephemeral })
    const content = await textOf(interaction).catch((error: unknown) => told(error, name))
    await interaction.editReply({
      content,
      allowedMentions: { parse: [] },
      flags: MessageFlags.SuppressEmbeds,
    })
  }

  return (interaction: ChatInputCommandInteraction): Promise<void> =>
    inTrace(traceFrom(undefined), () =>
      answer(interaction).catch((error: Error) => {
        // the error as a whole has the text, and the address by which anybody could answer
        const { commandName: command } = interaction
        log.warn({ reason: error.message, command }, 'An answer did not reach the member')
      }),
    )
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(botCommands, name)

const unknownCommand = () =>
  new AppError(
    'not_found',
    'command.unknown',
    'This command is gone; type / again to see which there are',
  )

import { botCommands } from '@guildhall/contracts/bot'
import {
  type ApplicationCommandDataResolvable,
  ApplicationCommandOptionType,
  ApplicationIntegrationType,
  InteractionContextType,
} from 'discord.js'

/** The option of `/ask`. */
export const QUESTION = 'question'
const MOST_QUESTION_CHARS = 1000

/** The commands as the chat platform is told of them: on servers alone, where an org is known. */
export const definitions: ApplicationCommandDataResolvable[] = Object.values(botCommands).map(
  ({ name, summary }) => ({
    name,
    description: summary,
    contexts: [InteractionContextType.Guild],
    integrationTypes: [ApplicationIntegrationType.GuildInstall],
    ...(name === 'ask' && {
      options: [
        {
          type: ApplicationCommandOptionType.String as const,
          name: QUESTION,
          description: 'What you want to know',
          required: true,
          maxLength: MOST_QUESTION_CHARS,
        },
      ],
    }),
  }),
)

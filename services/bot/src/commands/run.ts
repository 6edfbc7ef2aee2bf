import { botCommands, type CommandName } from '@guildhall/contracts/bot'
import type { OrgForServices } from '@guildhall/contracts/orgs'
import type { ChatInputCommandInteraction } from 'discord.js'
import type { z } from 'zod'
import { QUESTION } from './definitions.ts'
import type { Answering, Found } from './find.ts'
import { showEvents, showLeaderboard, showPassages, showPods, showPoints } from './show.ts'

/** What a command has to work with. */
export interface Asked {
  org: z.output<typeof OrgForServices>
  options: Pick<ChatInputCommandInteraction['options'], 'getString'>
  find<C extends Answering>(command: C, input?: Record<string, unknown>): Promise<Found<C>>
}

const MOST_STANDINGS = 10
const MOST_PASSAGES = 3

/** The text that each command answers. */
export const run: Record<CommandName, (asked: Asked) => Promise<string>> = {
  async events({ org, find }) {
    const { answer } = await find(botCommands.events)
    return showEvents(org.name, answer.events, answer.total_events)
  },

  async leaderboard({ org, find }) {
    const { answer } = await find(botCommands.leaderboard, { limit: MOST_STANDINGS })
    return showLeaderboard(org.name, answer)
  },

  async points({ org, find }) {
    const { answer } = await find(botCommands.points)
    return showPoints(org.name, answer)
  },

  async pods({ org, find }) {
    const { answer, degraded } = await find(botCommands.pods)
    return showPods(org.name, answer.pods, degraded !== undefined)
  },

  async ask({ options, find }) {
    const query = options.getString(QUESTION, true).trim()
    if (query === '') return 'Type what you want to know after /ask.'
    const { answer } = await find(botCommands.ask, { query, top_k: MOST_PASSAGES })
    return showPassages(answer.results)
  },
}

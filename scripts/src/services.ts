import * as agentsConfig from '@guildhall/agents/config'
import * as agentsDb from '@guildhall/agents/db'
import * as agents from '@guildhall/agents/main'
import * as alertsConfig from '@guildhall/alerts/config'
import * as alertsDb from '@guildhall/alerts/db'
import * as alerts from '@guildhall/alerts/main'
import * as authConfig from '@guildhall/auth/config'
import * as authDb from '@guildhall/auth/db'
import * as auth from '@guildhall/auth/main'
import * as botConfig from '@guildhall/bot/config'
import * as botDb from '@guildhall/bot/db'
import * as bot from '@guildhall/bot/main'
import * as calendarConfig from '@guildhall/calendar/config'
import * as calendarDb from '@guildhall/calendar/db'
import * as calendar from '@guildhall/calendar/main'
import * as computeConfig from '@guildhall/compute/config'
import * as computeDb from '@guildhall/compute/db'
import * as compute from '@guildhall/compute/main'
import type { Service } from '@guildhall/contracts/names'
import * as knowledgeConfig from '@guildhall/knowledge/config'
import * as knowledgeDb from '@guildhall/knowledge/db'
import * as knowledge from '@guildhall/knowledge/main'
import * as mcpConfig from '@guildhall/mcp/config'
import * as mcpDb from '@guildhall/mcp/db'
import * as mcp from '@guildhall/mcp/main'
import * as opsConfig from '@guildhall/ops/config'
import * as opsDb from '@guildhall/ops/db'
import * as ops from '@guildhall/ops/main'
import type { Env } from '@guildhall/service/config'
import type { Running } from '@guildhall/service/run'
import * as storeConfig from '@guildhall/store/config'
import * as storeDb from '@guildhall/store/db'
import * as store from '@guildhall/store/main'
import type { z } from 'zod'

/** What start, the operator and `.env.example` need to know of a service. */
interface Part {
  Settings: z.ZodObject
  migrations: string
  /** Throws SettingsError at once for bad settings. */
  prepare(env: Env): (now?: () => Date) => Promise<Running>
}

function part<Config>(
  { Settings, readConfig }: { Settings: z.ZodObject; readConfig: (env: Env) => Config },
  { migrations }: { migrations: string },
  { start }: { start: (config: Config, now?: () => Date) => Promise<Running> },
): Part {
  return {
    Settings,
    migrations,
    prepare(env) {
      const config = readConfig(env)
      return (now) => start(config, now)
    },
  }
}

/** Every service; a new one is a line here. */
export const parts: Record<Service, Part> = {
  auth: part(authConfig, authDb, auth),
  knowledge: part(knowledgeConfig, knowledgeDb, knowledge),
  ops: part(opsConfig, opsDb, ops),
  compute: part(computeConfig, computeDb, compute),
  agents: part(agentsConfig, agentsDb, agents),
  mcp: part(mcpConfig, mcpDb, mcp),
  store: part(storeConfig, storeDb, store),
  calendar: part(calendarConfig, calendarDb, calendar),
  alerts: part(alertsConfig, alertsDb, alerts),
  bot: part(botConfig, botDb, bot),
}

import * as agentsConfig from '@guildhall/agents/config'
import * as agentsDb from '@guildhall/agents/db'
import * as alertsConfig from '@guildhall/alerts/config'
import * as alertsDb from '@guildhall/alerts/db'
import * as authConfig from '@guildhall/auth/config'
import * as authDb from '@guildhall/auth/db'
import * as calendarConfig from '@guildhall/calendar/config'
import * as calendarDb from '@guildhall/calendar/db'
import * as computeConfig from '@guildhall/compute/config'
import * as computeDb from '@guildhall/compute/db'
import type { Service } from '@guildhall/contracts/names'
import * as knowledgeConfig from '@guildhall/knowledge/config'
import * as knowledgeDb from '@guildhall/knowledge/db'
import * as mcpConfig from '@guildhall/mcp/config'
import * as mcpDb from '@guildhall/mcp/db'
import * as opsConfig from '@guildhall/ops/config'
import * as opsDb from '@guildhall/ops/db'
import type { Env } from '@guildhall/service/config'
import type { Running } from '@guildhall/service/run'
import * as storeConfig from '@guildhall/store/config'
import * as storeDb from '@guildhall/store/db'
import type { z } from 'zod'

/** What start, the operator and `.env.example` need to know of a service. */
interface Part {
  Settings: z.ZodObject
  migrations: string
  /** Throws SettingsError at once for bad settings. */
  prepare(env: Env): (now?: () => Date) => Promise<Running>
}

/** What runs a service is loaded when it starts: the operator's commands need little of it. */
function part<Config>(
  { Settings, readConfig }: { Settings: z.ZodObject; readConfig: (env: Env) => Config },
  { migrations }: { migrations: string },
  main: () => Promise<{ start: (config: Config, now?: () => Date) => Promise<Running> }>,
): Part {
  return {
    Settings,
    migrations,
    prepare(env) {
      const config = readConfig(env)
      return async (now) => (await main()).start(config, now)
    },
  }
}

/** Every service; a new one is a line here. */
export const parts: Record<Service, Part> = {
  auth: part(authConfig, authDb, () => import('@guildhall/auth/main')),
  knowledge: part(knowledgeConfig, knowledgeDb, () => import('@guildhall/knowledge/main')),
  ops: part(opsConfig, opsDb, () => import('@guildhall/ops/main')),
  compute: part(computeConfig, computeDb, () => import('@guildhall/compute/main')),
  agents: part(agentsConfig, agentsDb, () => import('@guildhall/agents/main')),
  mcp: part(mcpConfig, mcpDb, () => import('@guildhall/mcp/main')),
  store: part(storeConfig, storeDb, () => import('@guildhall/store/main')),
  calendar: part(calendarConfig, calendarDb, () => import('@guildhall/calendar/main')),
  alerts: part(alertsConfig, alertsDb, () => import('@guildhall/alerts/main')),
}

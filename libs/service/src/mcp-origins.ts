import type { z } from 'zod'
import { type accountSettings, allowedOrigins, type originSettings } from './config.ts'

/** A page of this machine, as an inspector of MCP is. */
const LOCAL_PAGE = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/** Whose pages may speak MCP: those that may call the API, the deployment's own and those of this machine. */
export function mcpOrigins(
  config: z.output<z.ZodObject<typeof originSettings & typeof accountSettings>>,
): (string | RegExp)[] {
  const { ACCOUNTS_BASE_URL: own } = config
  return [...allowedOrigins(config), ...(own ? [new URL(own).origin] : []), LOCAL_PAGE]
}

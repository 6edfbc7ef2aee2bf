import { listTools, useTool } from '@guildhall/contracts/mcp'
import { summaryOf, type Tool } from '@guildhall/contracts/tool'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { argumentsOf } from './schema.ts'
import { usableTools } from './usable.ts'
import { useToolNamed } from './use.ts'

/** The tools over plain HTTP, for programs that do not speak MCP. */
export function toolRoutes(app: App, deps: Deps) {
  app.implement(listTools, async (asker) => ({
    tools: (await usableTools(deps, asker)).map(shownTool),
  }))

  app.implement(useTool, async ({ params: { name }, body: input, ...asker }) =>
    useToolNamed(deps, asker, { name, input }),
  )
}

function shownTool(tool: Tool) {
  const { name, scope, confirm } = tool
  const input_schema = argumentsOf(tool).json
  return { name, description: summaryOf(tool), scope, confirm: confirm !== undefined, input_schema }
}

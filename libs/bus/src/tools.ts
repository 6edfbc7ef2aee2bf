import type { Route } from '@guildhall/contracts/route'
import {
  callOf,
  MOST_ANSWER_BYTES,
  type Tool,
  type ToolArgs,
  type ToolReply,
} from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { answer } from './calls.ts'
import { askFrontDoor, type Door, type Frame } from './front-door.ts'

/**
 * Answers the tools of a service. Each is a request to its own front door, so that everything is checked as for
 * anybody else; whatever mcp says, the scope and the module are looked at again here.
 */
export function answerTools(frame: Frame, app: App) {
  for (const tool of tools.filter(({ route }) => route.owner === frame.service)) {
    answer(frame.bus, callOf(tool), async (args, { request_id = newId() }) => {
      if (!isAllowed(tool, args)) throw notAllowed(tool)
      return run({ ...frame, app, request_id }, tool, args)
    })
  }
}

const isAllowed = ({ scope, route }: Tool, { caller, org }: ToolArgs) =>
  caller.scopes.includes(scope) && (!route.module || org.modules.includes(route.module))

function run(door: Door, tool: Tool, args: ToolArgs): Promise<ToolReply> {
  const { route, confirm } = tool
  if (!confirm || !args.preview) return send(door, tool, route, args)
  if (confirm.dry_run)
    return send(door, tool, route, { ...args, input: { ...args.input, dry_run: true } })
  return confirm.shows ? show(door, tool, confirm.shows, args) : Promise.resolve({ answer: null })
}

/** What there is before a tool has changed it, or why that cannot be shown. */
async function show(door: Door, tool: Tool, route: Route, args: ToolArgs): Promise<ToolReply> {
  try {
    return await send(door, tool, route, args)
  } catch (thrown) {
    if (!(thrown instanceof AppError) || !tool.confirm?.despite?.includes(thrown.code)) throw thrown
    return { answer: { error: thrown.message, code: thrown.code } }
  }
}

async function send(door: Door, tool: Tool, route: Route, args: ToolArgs): Promise<ToolReply> {
  const { org, input, idempotency_key } = args
  const caller = { kind: 'machine' as const, ...args.caller, tool: tool.name }
  const said = await askFrontDoor(door, route, { caller, org, input, idempotency_key })
  if (said.bytes > MOST_ANSWER_BYTES) throw tooLarge(tool)
  const { answer, degraded } = said
  return { answer, ...(degraded !== undefined && { degraded }) }
}

const notAllowed = ({ name }: Tool) =>
  new AppError('forbidden', 'tool.not_allowed', `This token may not use ${name}`)

const tooLarge = ({ name }: Tool) =>
  new AppError(
    'too_large',
    'tool.answer_too_large',
    `The answer of ${name} is longer than ${MOST_ANSWER_BYTES} bytes; ask for less, by limit, top_k, offset or a smaller file`,
  )

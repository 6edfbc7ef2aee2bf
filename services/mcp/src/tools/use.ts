import { ask, isUnanswered } from '@guildhall/bus/calls'
import type { ToolAnswer } from '@guildhall/contracts/mcp'
import { callOf, readsOnly, type Tool } from '@guildhall/contracts/tool'
import { AppError, STATUS } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { notesOf, type Outcome } from './note.ts'
import { previewOf } from './preview.ts'
import { argumentsOf } from './schema.ts'
import { type Asker, usableTools } from './usable.ts'

type Using = Pick<Deps, 'db' | 'bus' | 'log' | 'config' | 'accessOf' | 'turns' | 'spendRate'>
interface Request {
  name: string
  input: Record<string, unknown>
}

/**
 * Uses a tool by its name. That a tool which writes is asked is in the audit log before it is, and afterwards what became
 * of it; of others, what became of them, before anybody hears of it. Searches are noted only where they are refused,
 * and calls over a limit not at all.
 * Throws `tool.unknown` for one that the token may not use, as for one that there is not, `tool.too_many` and
 * `rate.exceeded` over a limit, and `tool.unanswered` where nobody said in time what became of it.
 */
export async function useToolNamed(
  deps: Using,
  asker: Asker,
  request: Request,
): Promise<ToolAnswer> {
  const leave = deps.turns.enter(asker.caller.token_id)
  try {
    return await useNoted(deps, asker, request)
  } finally {
    leave()
  }
}

async function useNoted(deps: Using, asker: Asker, request: Request): Promise<ToolAnswer> {
  const notes = notesOf(deps, asker, request.name)
  const tool = await admitted(deps, asker, request).catch(async (error) => {
    if (!isOverLimit(error)) await notes.write(refusedBy(error))
    throw error
  })
  const preview = tool.confirm !== undefined && request.input.confirm !== true
  const writes = !preview && !readsOnly(tool)
  if (writes) await notes.write({ outcome: 'asked', ...notRefused })
  const became = await use(deps, asker, { tool, preview, given: request.input }).then(
    (answer) =>
      ({ outcome: preview ? 'confirm_required' : 'done', ...notRefused, answer }) as const,
    (error) => ({ ...refusedBy(error), error }),
  )
  if (writes) await notes.settle(became)
  else if (tool.audited !== false || 'error' in became) await notes.write(became)
  if ('error' in became) throw became.error
  return became.answer
}

/** The tool that is meant, once all is looked at that can be before its service is asked. */
async function admitted(deps: Using, asker: Asker, { name, input }: Request): Promise<Tool> {
  const tool = (await usableTools(deps, asker)).find((one) => one.name === name)
  if (!tool) throw unknownTool()
  await deps.spendRate(tool.route, asker.caller.token_id)
  checkArguments(tool, input)
  return tool
}

async function use(
  { bus, config }: Using,
  { caller, org, request_id }: Asker,
  { tool, preview, given }: { tool: Tool; preview: boolean; given: Record<string, unknown> },
): Promise<ToolAnswer> {
  const { confirm: _, idempotency_key, ...input } = given as Record<string, unknown> & Asking
  const { kind, tool: __, ...by } = caller
  const args = { caller: { ...by, scopes: [...by.scopes] }, input, preview }
  const asked = { ...args, org: { ...org, modules: [...org.modules] } }
  const keyed = idempotency_key === undefined ? asked : { ...asked, idempotency_key }
  const call = { ...callOf(tool), deadlineMs: config.TOOL_DEADLINE_MS }
  const { answer, degraded } = await ask(bus, call, keyed, { request_id }).catch((error) => {
    throw isUnanswered(error) ? unanswered(tool, preview, error) : error
  })
  if (preview) return previewOf(tool, input, answer)
  return { result: answer, ...(degraded !== undefined && { degraded }) }
}

/** What every tool may be given beside the fields of its route. */
interface Asking {
  confirm?: boolean
  idempotency_key?: string
}

function checkArguments(tool: Tool, given: Record<string, unknown>) {
  const parsed = argumentsOf(tool).accepts.safeParse(given)
  if (parsed.success) return
  const details = parsed.error.issues.flatMap((issue) => {
    const path = issue.path.map((part) => `/${String(part)}`).join('')
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map((key) => ({ path: `${path}/${key}`, message: 'is no argument of it' }))
  })
  const said = details.map(({ path, message }) => `${path}: ${message}`).join('; ')
  throw new AppError('invalid', 'tool.arguments', `${tool.name}: ${said}`, { details })
}

const isOverLimit = (error: unknown) => error instanceof AppError && error.kind === 'rate_limited'

function refusedBy(error: unknown): Outcome {
  if (!(error instanceof AppError)) return { outcome: 'refused', code: 'internal', status: 500 }
  const { code, kind } = error
  return { outcome: code === UNANSWERED ? 'unknown' : 'refused', code, status: STATUS[kind] }
}

const notRefused = { code: null, status: null }
const UNANSWERED = 'tool.unanswered'

function unanswered(tool: Tool, preview: boolean, cause: unknown) {
  const late = `${tool.route.owner} did not answer ${tool.name} in time`
  const message =
    preview || readsOnly(tool)
      ? `${late}; ask for less, or try again later`
      : `${late}: whether it was done is unknown. Look before you try again`
  return new AppError('unavailable', UNANSWERED, message, { cause })
}

const unknownTool = () =>
  new AppError(
    'not_found',
    'tool.unknown',
    'There is no such tool, or this token may not use it; list the tools to see those it may',
  )

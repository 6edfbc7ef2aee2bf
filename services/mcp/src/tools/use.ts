import { ask } from '@guildhall/bus/calls'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { actorOf } from '@guildhall/contracts/event'
import { type ToolAnswer, toolUsed } from '@guildhall/contracts/mcp'
import { callOf, summaryOf, type Tool } from '@guildhall/contracts/tool'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { argumentsOf } from './schema.ts'
import { type Asker, usableTools } from './usable.ts'

type Using = Pick<Deps, 'db' | 'bus' | 'accessOf'>

/**
 * Uses a tool by its name. What it did and what was refused is in the audit log before anybody hears of it;
 * searches are not. Throws `tool.unknown` for one that the token may not use, as for one that there is not.
 */
export async function useToolNamed(
  deps: Using,
  asker: Asker,
  { name, input }: { name: string; input: Record<string, unknown> },
): Promise<ToolAnswer> {
  const tool = (await usableTools(deps.accessOf, asker)).find((one) => one.name === name)
  const note = noteOf(deps, asker, name, tool?.audited ?? true)
  try {
    if (!tool) throw unknownTool()
    const answer = await use(deps, asker, tool, input)
    await note('confirm_required' in answer ? 'confirm_required' : 'done')
    return answer
  } catch (error) {
    await note('refused', error instanceof AppError ? error.code : 'internal')
    throw error
  }
}

async function use(
  { bus }: Using,
  { caller, org, request_id }: Asker,
  tool: Tool,
  given: Record<string, unknown>,
): Promise<ToolAnswer> {
  checkArguments(tool, given)
  const { confirm, idempotency_key, ...input } = given as Record<string, unknown> & Asking
  const { kind, tool: _, ...by } = caller
  const preview = tool.confirm !== undefined && confirm !== true
  const args = { caller: { ...by, scopes: [...by.scopes] }, input, preview }
  const asked = { ...args, org: { ...org, modules: [...org.modules] } }
  const keyed = idempotency_key === undefined ? asked : { ...asked, idempotency_key }
  const { answer } = await ask(bus, callOf(tool), keyed, { request_id })
  return preview ? previewOf(tool, input, answer) : { result: answer }
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

/** Characters of one argument in a preview. */
const MOST_SHOWN_CHARS = 500

function previewOf(tool: Tool, input: Record<string, unknown>, now: unknown): ToolAnswer {
  const { name } = tool
  const shown = Object.entries(input).map(([field, value]) => [field, shortened(value)])
  return {
    confirm_required: true,
    message: `Nothing was done. ${name} would: ${summaryOf(tool)}. If that is wanted, call it again with the same arguments and confirm: true.`,
    preview: { arguments: Object.fromEntries(shown), ...(now !== null && { now }) },
  }
}

const shortened = (value: unknown) =>
  typeof value === 'string' && value.length > MOST_SHOWN_CHARS
    ? `${value.slice(0, MOST_SHOWN_CHARS)}… (${value.length} characters)`
    : value

const MOST_NAME_CHARS = 100
type Outcome = 'done' | 'confirm_required' | 'refused'

function noteOf({ db }: Using, { caller, org }: Asker, tool: string, audited: boolean) {
  let noted = false
  return async (outcome: Outcome, code: string | null = null) => {
    if (noted || (!audited && outcome !== 'refused')) return
    noted = true // a line that cannot be written is not tried again as a refusal
    const by = { ...actorOf(caller), source: 'mcp' as const }
    const named = tool.slice(0, MOST_NAME_CHARS).toWellFormed() // of one that there is not, whatever was sent
    const line = audit(toolUsed, by, org, { tool: named, outcome, code })
    await db.transaction().execute((trx) => enqueue(trx, line))
  }
}

const unknownTool = () =>
  new AppError(
    'not_found',
    'tool.unknown',
    'There is no such tool, or this token may not use it; list the tools to see those it may',
  )

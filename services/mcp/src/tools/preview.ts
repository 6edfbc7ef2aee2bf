import type { ToolAnswer } from '@guildhall/contracts/mcp'
import { summaryOf, type Tool } from '@guildhall/contracts/tool'

/** Characters of one field in a preview. */
const MOST_SHOWN_CHARS = 500

/** What a tool would do, to be shown to a person; `now` is what there is, or null. */
export function previewOf(tool: Tool, input: Record<string, unknown>, now: unknown): ToolAnswer {
  const { name } = tool
  return {
    confirm_required: true,
    message: `Nothing was done. ${name} would: ${summaryOf(tool)}. If that is wanted, call it again with the same arguments and confirm: true.`,
    preview: { arguments: shown(input), ...(now !== null && { now: shown(now as object) }) },
  }
}

const shown = (fields: object) =>
  Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, shortened(value)]))

const shortened = (value: unknown) =>
  typeof value === 'string' && value.length > MOST_SHOWN_CHARS
    ? `${value.slice(0, MOST_SHOWN_CHARS)}… (${value.length} characters)`
    : value

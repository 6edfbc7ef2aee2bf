import type { Tool } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { z } from 'zod'

/** What the org's own token says already. */
const OF_ORG = ['org', 'org_id']

interface Described {
  /** Refuses missing, misspelt and unfit arguments; rules over several are the route's, which the service checks. */
  accepts: z.ZodObject
  /** The same, as agents read it. */
  json: Record<string, unknown>
}

const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'is 1 to 255 visible ASCII characters')
  .describe('Send the same again after a timeout, and nothing is done twice')
const Confirm = z
  .boolean()
  .describe('True does it; without it nothing happens and a preview is answered')

export function argumentsOf({ name }: Tool): Described {
  const found = described.get(name)
  if (!found) throw new Error(`There is no tool ${name}`)
  return found
}

function describe({ route, confirm, narrowed, without = [] }: Tool): Described {
  const { params, query, body, idempotent } = route
  const fields = { ...params?.shape, ...asJson(query?.shape), ...shapeOf(body), ...narrowed }
  const kept = Object.entries(fields).filter(
    ([name]) => !OF_ORG.includes(name) && !without.includes(name),
  )
  const accepts = z.strictObject({
    ...Object.fromEntries(kept),
    ...(idempotent && { idempotency_key: IdempotencyKey.optional() }),
    ...(confirm && { confirm: Confirm.optional() }),
  })
  const json = z.toJSONSchema(accepts, { io: 'input', unrepresentable: 'any' })
  return { accepts, json }
}

/** The fields of a query, where a text stands for true or false as the boolean that an agent sends. */
function asJson(shape: Record<string, z.ZodType> = {}): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [name, isFlag(field) ? flagOf(field) : field]),
  )
}

const isFlag = (field: z.ZodType) => z.toJSONSchema(field, { io: 'output' }).type === 'boolean'
const flagOf = ({ description = '' }: z.ZodType) => z.boolean().optional().describe(description)

/** The fields of a body, with or without a default of the whole. */
function shapeOf(body: z.ZodType | undefined): Record<string, z.ZodType> {
  if (body instanceof z.ZodDefault) return shapeOf(body.unwrap() as z.ZodType)
  return body instanceof z.ZodObject ? (body.shape as Record<string, z.ZodType>) : {}
}

/** Made once; last here, as it uses all of the above. */
const described = new Map(tools.map((tool) => [tool.name, describe(tool)]))

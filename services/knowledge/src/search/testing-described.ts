import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** As much of an OpenAPI description as the check reads. */
interface Described {
  paths: Record<string, Record<string, Operation>>
  components: object
}
interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: { type?: string } }[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}
type Content = Record<string, { schema: object }>

export interface Exchange {
  method: string
  path: string
  query: Record<string, string>
  body: unknown
  status: number
  answer: unknown
}

/** Answers every way in which a request or its answer differs from an OpenAPI description. */
export function openDescription(text: unknown) {
  const description = withNulls(text) as Described
  const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'described', components: description.components })
  const check = (what: string, schema: object, value: unknown) => {
    const absolute = JSON.stringify(schema).replaceAll('"#/components', '"described#/components')
    const validate = ajv.compile(JSON.parse(absolute))
    if (validate(value)) return []
    return (validate.errors ?? []).map((one) => `${what}${one.instancePath} ${one.message}`)
  }
  return (exchange: Exchange): string[] => {
    const { method, path } = exchange
    const where = `${method} ${path}`
    const found = operationOf(description.paths, method, path)
    if (!found) return [`${where} is not described`]
    return [
      ...queryFaults(check, where, found, exchange),
      ...bodyFaults(check, where, found, exchange),
      ...answerFaults(check, where, found, exchange),
    ]
  }
}

type Check = (what: string, schema: object, value: unknown) => string[]

function queryFaults(
  check: Check,
  where: string,
  { parameters = [] }: Operation,
  { query }: Exchange,
) {
  return Object.entries(query).flatMap(([name, value]) => {
    const known = parameters.find((one) => one.in === 'query' && one.name === name)
    if (!known) return [`${where} takes no parameter ${name}`]
    return check(`${where} ${name}`, known.schema, typed(known.schema, value))
  })
}

function bodyFaults(check: Check, where: string, { requestBody }: Operation, { body }: Exchange) {
  const schema = requestBody?.content['application/json']?.schema
  if (body === undefined) return requestBody?.required ? [`${where} lacks its body`] : []
  return schema ? check(`${where} body`, schema, body) : [`${where} takes no body`]
}

/** What servers say when they fail is described loosely or not at all. */
function answerFaults(
  check: Check,
  where: string,
  { responses }: Operation,
  { status, answer }: Exchange,
) {
  if (status >= 400) return []
  const described = responses[status]
  if (!described) return [`${where} does not answer ${status}`]
  const schema = described.content?.['application/json']?.schema
  return schema ? check(`${where} answer`, schema, answer) : []
}

/** The operation behind a path: where several templates fit, the one with the fewest variables. */
function operationOf(paths: Described['paths'], method: string, path: string) {
  const given = path.split('/')
  const fitting = Object.entries(paths).filter(([template]) => {
    const parts = template.split('/')
    return (
      parts.length === given.length &&
      parts.every((one, i) => /^\{.+\}$/.test(one) || one === given[i])
    )
  })
  const variables = (template: string) => template.split('{').length
  const [best] = fitting.sort(([a], [b]) => variables(a) - variables(b))
  return best?.[1][method.toLowerCase()]
}

function typed({ type }: { type?: string }, value: string) {
  if (type === 'boolean') return value === 'true'
  return type === 'integer' ? Number(value) : value
}

/** OpenAPI 3.0 says `nullable`; JSON Schema knows it only as a type. */
function withNulls(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withNulls)
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([key, value]) => [key, withNulls(value)] as const)
  const { nullable, ...schema } = Object.fromEntries(entries)
  if (nullable !== true) return Object.fromEntries(entries)
  return Object.keys(schema).length === 0 ? { type: 'null' } : { anyOf: [schema, { type: 'null' }] }
}

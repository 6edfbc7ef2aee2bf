import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'
import { officialDescription } from '../testing.ts'

/** As much of Discord's description (OpenAPI 3.1) as the check reads. */
const Content = z.object({ 'application/json': z.object({ schema: z.unknown() }) }).partial()
const Response = z.object({
  $ref: z.string().optional(),
  headers: z.record(z.string(), z.unknown()).default({}),
  content: Content.default({}),
})
const Parameter = z.object({
  name: z.string(),
  in: z.string(),
  required: z.boolean().default(false),
  schema: z.record(z.string(), z.unknown()),
})
const Operation = z.object({
  parameters: z.array(Parameter).default([]),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string(), Response),
})
const METHODS = ['get', 'post', 'put', 'patch'] as const
const Description = z.object({
  paths: z.record(
    z.string(),
    z.object({
      parameters: z.array(Parameter).default([]),
      ...Object.fromEntries(METHODS.map((method) => [method, Operation.optional()])),
    }),
  ),
  components: z.looseObject({ responses: z.record(z.string(), Response) }),
})

export interface Exchange {
  method: string
  url: URL
  status: number
  headers: Headers
  body: unknown
  /** The body of the request, where it had one. */
  sent?: unknown
}

export interface Official {
  /** Every way in which a request or its answer differs from the official description. */
  faults(exchange: Exchange): string[]
}

const NO_CONTENT = 204
const API = /^.*\/api\/v10/

/** The check against Discord's own description, or nothing where that is not on this machine. */
export async function openOfficial(): Promise<Official | undefined> {
  const text = await officialDescription('chat-discord-v10.json')
  if (text === undefined) return undefined
  const { paths, components } = Description.parse(text)
  const check = openCheck(components)
  return {
    faults({ method, url, status, headers, body: said, sent }) {
      const path = url.pathname.replace(API, '')
      const found = operationOf(paths, method, path)
      if (!found) return [`${method} ${path} is not described`]
      const { responses, parameters, values, requestBody } = found
      const response = responseOf(responses, status, components.responses)
      if (!response) return [`${path}: status ${status} is not described`]
      const given = { path: values, query: Object.fromEntries(url.searchParams) }
      const body = requestBody?.content['application/json']?.schema
      const answer = response.content['application/json']?.schema
      return [
        ...(status < 400 ? askedFaults(check, parameters, given) : []),
        ...(status < 400 && sent !== undefined ? check(`${path} sent `, body, sent) : []),
        ...headerFaults(Object.keys(response.headers), headers),
        ...(status === NO_CONTENT ? [] : check(`${path} ${status} `, answer, said)),
      ]
    },
  }
}

type Responses = Record<string, z.output<typeof Response>>

function responseOf(responses: Responses, status: number, shared: Responses) {
  const named = responses[status] ?? responses[`${String(status)[0]}XX`]
  return named?.$ref ? shared[named.$ref.split('/').at(-1) ?? ''] : named
}

/** Says what is wrong with a value; the references of its schema lead into the whole description. */
type Check = (what: string, schema: unknown, value: unknown) => string[]

function openCheck(components: object): Check {
  const ajv = new Ajv2020({ strict: false, formats: { snowflake: true, nonce: true } })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'discord', components })
  return (what, schema, value) => {
    if (schema === undefined) return [`${what}has no schema`]
    const absolute = JSON.stringify(schema).replaceAll('"#/components', '"discord#/components')
    const validate = ajv.compile(JSON.parse(absolute))
    if (validate(value)) return []
    const faults = validate.errors ?? []
    return faults.map(({ instancePath, message }) => `${what}${instancePath} ${message}`)
  }
}

/** The operation behind a path: where several templates fit, the one with the fewest variables. */
function operationOf(paths: z.output<typeof Description>['paths'], method: string, path: string) {
  const verb = METHODS.find((one) => one.toUpperCase() === method)
  const fitting = Object.entries(paths).flatMap(([template, described]) => {
    const values = match(template, path)
    const operation = verb && Operation.optional().parse(described[verb as keyof typeof described])
    if (!values || !operation) return []
    return { ...operation, values, parameters: [...described.parameters, ...operation.parameters] }
  })
  const variables = (values: object) => Object.keys(values).length
  return fitting.sort((one, two) => variables(one.values) - variables(two.values))[0]
}

function askedFaults(
  check: Check,
  parameters: z.output<typeof Parameter>[],
  given: { path: Record<string, string>; query: Record<string, string> },
) {
  const described = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  const unknown = Object.keys(given.query).filter((name) => !described.includes(name))
  const wrong = parameters.flatMap(({ name, in: place, required, schema }) => {
    const value = given[place as keyof typeof given]?.[name]
    if (value === undefined) return required ? [`${place} ${name} is missing`] : []
    return check(`${place} ${name}`, schema, schema.type === 'integer' ? Number(value) : value)
  })
  return [...unknown.map((name) => `query ${name} is not described`), ...wrong]
}

/** The values of a path's template, or nothing where the path is another. */
function match(template: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [template.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const values: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    const name = /^\{(.+)\}$/.exec(part)?.[1]
    if (name) values[name] = given[i] ?? ''
    else if (part !== given[i]) return undefined
  }
  return values
}

const headerFaults = (described: string[], headers: Headers) =>
  described.filter((name) => !headers.has(name)).map((name) => `header ${name} is missing`)

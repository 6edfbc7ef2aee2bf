import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'
import { officialDescription } from '../testing.ts'

const Schema = z.object({ schema: z.unknown() })
const Reply = z.object({
  $ref: z.string().optional(),
  content: z.record(z.string(), Schema).default({}),
})
const Operation = z.object({
  requestBody: z.object({ content: z.object({ 'application/json': Schema }) }).optional(),
  responses: z.record(z.string(), Reply),
})
const Description = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.looseObject({ responses: z.record(z.string(), Reply) }),
})

/** A request to the pod host and what it answered; bodies are what JSON.parse gave, or undefined. */
export interface Exchange {
  method: string
  /** Without the address of the API: `/pods/abc`. */
  path: string
  sent?: unknown
  status: number
  contentType: string | null
  body: unknown
}

/**
 * Says every way in which an exchange differs from the pod host's official description. A request that was
 * refused need not fit. Nothing where the description is not on this machine.
 */
export async function openPodhostOfficial(): Promise<
  ((exchange: Exchange) => string[]) | undefined
> {
  const text = await officialDescription('podhost-runpod-v2.json')
  if (text === undefined) return undefined
  const { paths, components } = Description.parse(text)
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'podhost', components })
  const check = (what: string, schema: unknown, value: unknown) => {
    const absolute = JSON.stringify(schema).replaceAll('"#/components', '"podhost#/components')
    const validate = ajv.compile(JSON.parse(absolute))
    if (validate(value)) return []
    return (validate.errors ?? []).map((one) => `${what} ${one.instancePath} ${one.message}`)
  }
  return ({ method, path, sent, status, contentType, body }) => {
    const what = `${method} ${path}`
    const found = operationOf(paths, method, path)
    if (!found) return [`${what} is not described`]
    const { requestBody, responses } = Operation.parse(found)
    const named = responses[status] ?? responses.default
    const reply = named?.$ref ? components.responses[named.$ref.split('/').at(-1) ?? ''] : named
    if (!reply) return [`${what}: status ${status} is not described`]
    const asked =
      requestBody && status < 400
        ? check(`${what} request`, requestBody.content['application/json'].schema, sent)
        : []
    return [...asked, ...answered(`${what} ${status}`, reply)]

    function answered(where: string, { content }: z.output<typeof Reply>) {
      const [described] = Object.entries(content)
      if (!described) return body === undefined ? [] : [`${where} has a body`]
      const [type, { schema }] = described
      if (!contentType?.startsWith(type)) return [`${where} is ${contentType} and not ${type}`]
      return check(where, schema, body)
    }
  }
}

function operationOf(paths: z.output<typeof Description>['paths'], method: string, path: string) {
  const parts = `/v2${path}`.split('/')
  const fits = (template: string) => {
    const wanted = template.split('/')
    return (
      wanted.length === parts.length && wanted.every((one, n) => one[0] === '{' || one === parts[n])
    )
  }
  const found = Object.entries(paths).find(([template]) => fits(template))
  return found?.[1][method.toLowerCase()]
}

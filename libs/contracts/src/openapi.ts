import { z } from 'zod'
import type { Need } from './caller.ts'
import { Bytes, FileParts, Html, Problem, Redirect, type Route } from './route.ts'
import { routes } from './routes.ts'

type Json = z.core.JSONSchema.BaseSchema

/** The OpenAPI 3.1 document of every route. Schemas with `.meta({ id })` become its components. */
export function openApi(version: string) {
  const schemas: Record<string, Json> = {}
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { name, route } of routes) {
    const url = route.url.replace(/[:*](\w+)/g, '{$1}')
    paths[url] = { ...paths[url], [route.method.toLowerCase()]: operation(name, route, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Guildhall', version },
    paths,
    components: {
      schemas,
      securitySchemes: {
        platform: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token of POST /api/auth/exchange',
        },
        machine: { type: 'http', scheme: 'bearer', description: 'A machine token, plat_…' },
      },
    },
  }
}

function operation(name: string, route: Route, schemas: Record<string, Json>) {
  const { summary, owner, caller, params, query, body, form, reply } = route
  const type = form ? 'multipart/form-data' : 'application/json'
  const answers = Object.entries(reply).map(([status, schema]) => [status, answer(schema, schemas)])
  return {
    operationId: name,
    tags: [owner],
    summary,
    description: needText(caller),
    security: securityOf(caller),
    parameters: [
      ...parametersOf('path', params, schemas),
      ...parametersOf('query', query, schemas),
      ...(route.idempotent ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: { [type]: { schema: schemaOf(body, 'input', schemas) } },
      },
    }),
    responses: {
      ...Object.fromEntries(answers),
      default: { ...answer(Problem, schemas), description: 'Refused' },
    },
  }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Sent again within a day with the same body, it gets the first answer and changes nothing',
  schema: { type: 'string', maxLength: 255 },
}

function needText({ accepts, scope }: Need) {
  return `Caller: ${accepts.join(' or ')}${scope ? ` with scope \`${scope}\`` : ''}.`
}

function securityOf({ accepts }: Need) {
  return accepts.map((kind) => {
    if (kind === 'public') return {}
    return kind === 'machine' || kind === 'cli' ? { machine: [] } : { platform: [] }
  })
}

function answer(schema: z.ZodType, schemas: Record<string, Json>) {
  if (schema === Redirect) {
    return {
      description: 'Sends the browser on',
      headers: { location: { schema: { type: 'string', format: 'uri' } } },
    }
  }
  if (schema === Html) return { description: 'A page', content: { 'text/html': {} } }
  const [type, json] =
    schema === Bytes
      ? ['application/octet-stream', {}]
      : ['application/json', schemaOf(schema, 'output', schemas)]
  return { description: 'Done', content: { [type as string]: { schema: json } } }
}

function parametersOf(
  place: 'path' | 'query',
  schema: z.ZodObject | undefined,
  schemas: Record<string, Json>,
) {
  const { properties = {}, required = [] } = schema ? schemaOf(schema, 'input', schemas) : {}
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }))
}

/** JSON Schema of a zod schema; named parts move to `schemas`. A default is optional going in and present coming out. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, Json>): Json {
  const suffix = io === 'input' ? 'Input' : ''
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: binary,
  })
  const hoisted = JSON.stringify(json).replace(
    /"#\/\$defs\/(\w+)"/g,
    `"#/components/schemas/$1${suffix}"`,
  )
  const { $defs = {}, ...rest } = JSON.parse(hoisted) as Json
  for (const [id, named] of Object.entries($defs)) schemas[id + suffix] = named as Json
  return rest
}

function binary({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: Json }) {
  if (zodSchema !== FileParts) return
  const items = { type: 'string', contentMediaType: 'application/octet-stream' }
  Object.assign(jsonSchema, { type: 'array', items })
}

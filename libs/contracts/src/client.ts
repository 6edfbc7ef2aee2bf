import type { z } from 'zod'
import { Bytes, Html, Problem, type Route } from './route.ts'

// biome-ignore-start lint/complexity/noBannedTypes: {} is the identity of & here
type Part<R, K extends string> =
  R extends Record<K, infer S extends z.ZodType>
    ? {} extends z.input<S>
      ? { [P in K]?: z.input<S> }
      : { [P in K]: z.input<S> }
    : {}
// biome-ignore-end lint/complexity/noBannedTypes: see above
export type Args<R extends Route> = Part<R, 'params'> & Part<R, 'query'> & Part<R, 'body'>

type Refusal = 400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 502 | 503
/** One member per declared status and one for all refusals: `status` tells them apart. */
export type Reply<R extends Route> =
  | { [S in keyof R['reply']]: { status: S; body: z.output<R['reply'][S]> } }[keyof R['reply']]
  | { status: Exclude<Refusal, keyof R['reply']>; body: Problem }

type Send = (path: string, init: RequestInit, route: Route) => Promise<Response>
type Loose = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown }

/** A typed client over `send`, which is `fetch` bound to an address and a credential. */
export function createClient(send: Send) {
  return {
    /** Throws if the answer has another shape than the contract says: then it is not our server that spoke. */
    async call<R extends Route>(route: R, args: Args<R>): Promise<Reply<R>> {
      const init = { method: route.method, redirect: 'manual' as const, ...bodyOf(route, args) }
      const response = await send(pathOf(route, args), init, route)
      const { status, headers } = response
      if (status === 302) {
        return { status, body: { location: headers.get('location') } } as unknown as Reply<R>
      }
      const schema = route.reply[status] ?? Problem
      return { status, body: await bodyFrom(response, schema) } as Reply<R>
    },
  }
}

function bodyFrom(response: Response, schema: z.ZodType): unknown {
  if (schema === Bytes) return response.body
  if (response.headers.get('content-type')?.startsWith('text/html') && schema === Html)
    return response.text()
  return response.json().then((body) => (schema === Html ? Problem : schema).parse(body))
}

/** Parameters escaped, lists in the query repeated, unset ones left out. */
export function pathOf({ url }: Route, { params = {}, query = {} }: Loose): string {
  const path = url.replace(/([:*])(\w+)/g, (_, kind, name) => {
    const value = String(params[name])
    return kind === ':'
      ? encodeURIComponent(value)
      : value.split('/').map(encodeURIComponent).join('/')
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) if (item !== undefined) search.append(name, String(item))
  }
  return search.size > 0 ? `${path}?${search}` : path
}

function bodyOf(route: Route, { body }: Loose): RequestInit {
  if (body === undefined) return {}
  if (!route.form) {
    return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(body as object)) {
    for (const item of [value].flat()) {
      if (item !== undefined) form.append(name, item instanceof Blob ? item : String(item))
    }
  }
  return { body: form }
}

import { z } from 'zod'
import type { Caller, Need } from './caller.ts'
import type { ModuleName, Service } from './names.ts'

/** One HTTP route as plain data: a service implements it, the gateway admits it, clients call it. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The whole public path. `:name` is one segment; `*name` at the end is the rest, slashes and all. */
  url: `/${string}`
  summary: string
  /** The service that answers. */
  owner: Service
  caller: Need
  /** Where the org has this module off, the route looks like none. */
  module?: ModuleName
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  /**
   * The body is a form: text fields, and up to `files` files of `maxFileBytes` each under `field`. Of a
   * `streamed` one the only file is handed on while it comes; `body` is then an object and names every field.
   */
  form?: { field: string; files: number; maxFileBytes: number; streamed?: true }
  /** Longest body accepted; 1 MiB where nothing is said. */
  maxBytes?: number
  /** Never refused for its body: one that cannot be read, is too long or is called something else is none. */
  anyBody?: true
  /** The cookies that the service reads. All others, and Authorization, end at the gateway. */
  cookies?: readonly string[]
  /** The request headers that the handler reads, in lower case. */
  headers?: readonly string[]
  /** The header Idempotency-Key is heard: the handler runs its write `oncePerKey`. */
  idempotent?: true
  /** The answer holds a credential: nobody may store it. */
  noStore?: true
  /** A GET that writes: it is not offered as HEAD, whose answer nobody would see. */
  writes?: true
  /** Another counter than the credential's own 1 200 a minute. */
  rate?: 'sign_in' | 'search' | 'connect'
  reply: Record<number, z.ZodType>
}

export const route = <const R extends Route>(contract: R): R => contract

export const MEBIBYTE = 1024 * 1024

/** The body of every refusal. */
export const Problem = z
  .object({
    error: z.string(),
    code: z.string(),
    details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    request_id: z.string().optional(),
  })
  .meta({ id: 'Problem' })
export type Problem = z.output<typeof Problem>

/** A reply of raw bytes, streamed. */
export const Bytes = z.custom<AsyncIterable<Uint8Array>>()

/** A reply that is a page for people; only that and no JSON. */
export const Html = z.custom<string>()

/** A reply that sends the browser on; the body is empty. */
export const Redirect = z.custom<{ location: string }>()

/** A file of a form: clients give a File, the handler gets its name and its bytes. */
export interface UploadedFile {
  name: string
  bytes: Uint8Array
}
export const FileParts = z.custom() as z.ZodType<UploadedFile[], File[]>

/** The file of a `streamed` form. Its bytes can be read once; they throw where the form is cut short or breaks a limit. */
export interface UploadedStream {
  name: string
  bytes: AsyncIterable<Uint8Array>
}
export const FileStream = z.custom() as z.ZodType<UploadedStream, File>

/** The org that a request is about, as far as every service may know it. */
export interface OrgRef {
  id: number
  prefix: string
  name: string
  modules: readonly string[]
  /** May write public sources. */
  publisher: boolean
}

type Out<S> = S extends z.ZodType ? z.output<S> : undefined
type CallerOf<R extends Route> = Extract<
  Caller,
  { kind: R['caller']['accepts'][number] | ByTool<R['caller']> }
>
type ByTool<N extends Need> = N extends { tool_scope: string } ? 'machine' : never
/** The org is known when the path names it or the credential belongs to one. */
type OrgOf<R extends Route> = R['url'] extends
  | `${string}/:org`
  | `${string}/:org/${string}`
  | `${string}/:org_id`
  | `${string}/:org_id/${string}`
  ? OrgRef
  : CallerOf<R> extends { kind: 'machine' }
    ? OrgRef
    : undefined

/** What a handler is given. */
export interface Input<R extends Route> {
  params: Out<R['params']>
  query: Out<R['query']>
  body: Out<R['body']>
  caller: CallerOf<R>
  org: OrgOf<R>
  cookies: Readonly<Record<string, string | undefined>>
  /** Those that the contract names, as sent. */
  headers: Readonly<Record<string, string | undefined>>
  /** The header Idempotency-Key, where the contract is `idempotent`. */
  idempotency_key: string | undefined
  request_id: string
}

declare const sent: unique symbol
export type Sent = { [sent]: true }

/** Sends the statuses that the contract declares, each with its own body. */
export interface Answer<R extends Route> {
  header(name: string, value: string | string[]): this
  code<S extends keyof R['reply']>(status: S): { send(body: Out<R['reply'][S]>): Sent }
}

/** Returning a plain value means status 200, which the contract must then declare. */
export type Handler<R extends Route> = (
  input: Input<R>,
  answer: Answer<R>,
) => Promise<Sent | (R['reply'] extends { 200: infer S } ? Out<S> : never)>

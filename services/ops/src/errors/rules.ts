import { createHash } from 'node:crypto'
import type { ErrorEvent } from '@guildhall/contracts/event'

/** A UUID, and a word of letters and digits that is too long to mean anything. */
const IDS = /[0-9a-f]{8}-[0-9a-f-]{27}|\b(?=[a-z_]*\d)(?=\d*[a-z_])\w{12,}\b/gi

/** What makes two events the same error: everything that does not vary from one occurrence to the next. */
export function fingerprintOf(
  { service, org_id, kind, message }: ErrorEvent,
  location: string | null,
): string {
  const lasting = message.replace(IDS, '<id>').replace(/\d+/g, '<n>')
  return createHash('sha256')
    .update(JSON.stringify([service, org_id, kind, location, lasting]))
    .digest('base64url')
}

/** `services/auth/src/app.ts:12`: the first line of a stack that is not a library's or Node's. */
export function firstFrameOfOurs(stack: string | null): string | null {
  for (const line of stack?.split('\n') ?? []) {
    const frame = /((?:services|libs|gateway|scripts)\/[^\s)]+?\.ts:\d+)/.exec(line)?.[1]
    if (frame && !line.includes('node_modules')) return frame
  }
  return null
}

/** `/assets/app.js:12`: the first line of a browser's stack. */
export function firstFrameOfPage(stack: string | null): string | null {
  const [, url = '', line] = /(https?:\/\/[^\s)]+?):(\d+)(?::\d+)?\)?\s*$/m.exec(stack ?? '') ?? []
  const path = URL.parse(url)?.pathname
  return path === undefined ? null : `${path}:${line}`
}

/**
 * What follows ? or # in the addresses of a text may be somebody's: a code, a name, a search. It goes, up to the next
 * white space; so does who signs in, before the @ of an address.
 */
export const withoutQueries = (text: string) => text.replace(/\S+/g, withoutQuery)

/** As `withoutQueries`; the lines of a stack that are frames keep their line and column. */
export const stackWithoutQueries = (stack: string) => stack.replace(/.+/g, frameWithoutQuery)

function withoutQuery(word: string): string {
  const open = word.replace(/\/\/[^/\\?#]*@/g, '//')
  const cut = open.search(/[?#]/)
  if (cut < 0) return open
  // `a?.b` and `#31` are no addresses
  const isAddress = open.lastIndexOf('/', cut) >= 0 || open.includes('=', cut)
  return isAddress ? open.slice(0, cut) : open
}

/** A frame is `at render (<url>:12:34)`, or `render@<url>:12:34` and nothing else. */
function frameWithoutQuery(line: string): string {
  const isFrame = /^\s*(at\s|\S+$)/.test(line)
  const [place = ''] = (isFrame && /(:\d+){1,2}\)?$/.exec(line)) || []
  return withoutQueries(line.slice(0, line.length - place.length)) + place
}

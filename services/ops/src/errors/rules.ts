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

/** What follows ? or # in the addresses of a text may be somebody's: a code, a name, a search. */
export const withoutQueries = (text: string) =>
  text.replace(/(\bhttps?:\/\/[^\s?#)]+)[?#][^\s):]*/g, '$1')

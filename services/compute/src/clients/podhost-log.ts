import { firstEvents } from '@guildhall/outbound/events'
import { HostLogLine } from './podhost-shapes.ts'

/** As many lines as the host is asked for; how long it may take. It keeps the stream open after them. */
const LINES = 20
const PATIENCE_MS = 1_000
const MOST_LINE_CHARS = 500

/**
 * The last line of what the host itself says of a pod, without what the pod writes. Nothing where it says
 * nothing in time. `hide` takes out what nobody may read.
 */
export async function lastLogLine(
  podUrl: string,
  headers: Record<string, string>,
  hide: (text: string) => string,
): Promise<string | undefined> {
  const url = `${podUrl}/logs?source=system&tail=${LINES}`
  const events = await firstEvents({ url, headers, most: LINES, ms: PATIENCE_MS })
  const lines = events.map(lineOf).filter((line) => line !== '')
  return lines.length > 0 ? hide(lines.at(-1) ?? '').slice(0, MOST_LINE_CHARS) : undefined
}

/** On one line, without control characters. */
function lineOf(data: string): string {
  try {
    const { line } = HostLogLine.parse(JSON.parse(data))
    return line.replace(/[\p{C}\s]+/gu, ' ').trim()
  } catch {
    return ''
  }
}

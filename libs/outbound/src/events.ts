import { EventSourceParserStream } from 'eventsource-parser/stream'
import { fetch } from 'undici'

/** One event is a line or so; a longer one ends the reading. */
const MOST_EVENT_CHARS = 64 * 1024

interface Asked {
  url: string
  headers: Record<string, string>
  /** Reading ends after so many events. */
  most: number
  /** And after this time, with what came until then: such streams are kept open. */
  ms: number
}

/**
 * The data of the first server-sent events that an outside service sends. Fewer, or none, where it says
 * no more in time or fails on the way: made for what is nice to know.
 */
export async function firstEvents({ url, headers, most, ms }: Asked): Promise<string[]> {
  const events: string[] = []
  try {
    const signal = AbortSignal.timeout(ms)
    const response = await fetch(url, { headers, signal, redirect: 'manual' })
    if (!response.ok || !response.body) {
      await response.body?.cancel()
      return []
    }
    const parsed = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream({ maxBufferSize: MOST_EVENT_CHARS }))
    for await (const { data } of parsed) {
      events.push(data)
      if (events.length >= most) break // which cancels the request
    }
  } catch {
    // what came until then is all there is
  }
  return events
}

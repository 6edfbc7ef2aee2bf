import type { Response } from 'undici'

/** The body was longer than the reader allowed; reading stopped there and the connection was dropped. */
export class BodyTooLarge extends Error {}

/** The whole body, decompressed, unless it passes `maxBytes`: then throws BodyTooLarge without reading on. */
export async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new BodyTooLarge(`more than ${maxBytes} bytes`)
  if (!response.body) return Buffer.alloc(0)
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    await response.body.cancel()
    throw tooLarge()
  }
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body) {
    length += part.byteLength
    if (length > maxBytes) throw tooLarge() // leaving the loop cancels the stream
    parts.push(part)
  }
  return Buffer.concat(parts)
}

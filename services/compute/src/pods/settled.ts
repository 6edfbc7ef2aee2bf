import { setTimeout as wait } from 'node:timers/promises'
import type { AppError } from '@guildhall/service/errors'

/** How long a second request with the same Idempotency-Key waits for the first. */
const PATIENCE_MS = 40_000
const LOOK_EVERY_MS = 200

/** What `look` finds once whoever has it under way is done with it. Throws `unclear` where that lasts too long. */
export async function settled<T>(
  look: () => Promise<T | undefined>,
  unclear: (cause: unknown) => AppError,
): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > end) throw unclear(undefined)
    await wait(LOOK_EVERY_MS)
  }
}

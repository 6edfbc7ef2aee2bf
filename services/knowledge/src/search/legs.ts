import type { Log } from '@guildhall/service/log'
import { createLeg } from './leg.ts'

export type Legs = ReturnType<typeof createLegs>

/** The parts of which a search needs only one: the words, or the meaning, which mostly needs the embedder. */
export function createLegs(log: Log) {
  const byText = 'searches go by words alone'
  const words = createLeg({
    log,
    name: 'search by words',
    meanwhile: 'searches go by meaning alone, or answer 503 where they cannot',
  })
  const meaning = createLeg({ log, name: 'search by meaning', meanwhile: byText })
  /** That of the deployment; orgs have their own. */
  const embedder = createLeg({ log, name: 'embedder', meanwhile: byText })
  return {
    words,
    meaning,
    embedder,
    /** Empty, or which parts fail: it is told to the superadmin, and no reason to send the process no requests. */
    async state() {
      return [words, meaning, embedder].flatMap((leg) => leg.failure() ?? []).join('; ')
    },
  }
}

import type { Log } from '@guildhall/service/log'
import { createLeg } from './leg.ts'

/** A call to another service is given up after that, so from half of it on a failure is slow. */
const CALL_MS = 2_000

export type Legs = ReturnType<typeof createLegs>

/** The parts of which a search needs only one: the words, or the meaning, which mostly needs the embedder; and auth. */
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
  const auth = createLeg({
    log,
    name: 'service auth',
    patientMs: CALL_MS,
    meanwhile: 'searches go by the publishers and embedders that it named last',
  })
  return {
    words,
    meaning,
    embedder,
    auth,
    /** Empty, or which parts fail: it is told to the superadmin, and no reason to send the process no requests. */
    async state() {
      return [words, meaning, embedder, auth].flatMap((leg) => leg.failure() ?? []).join('; ')
    },
  }
}

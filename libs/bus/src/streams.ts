import { REVOKED_BUCKET } from '@guildhall/contracts/auth'
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/nats-core'

/** Error code of JetStream's API. */
const STREAM_NOT_FOUND = 10_059
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How long a message id is remembered: a message sent again within it is stored once. */
export const DUPLICATE_WINDOW_MS = 15 * 60_000

const base = {
  storage: StorageType.File,
  discard: DiscardPolicy.Old,
  duplicate_window: nanos(DUPLICATE_WINDOW_MS),
} satisfies Partial<StreamConfig>

/** The streams of JetStream. ops makes them; everybody else only uses them. */
export const streams = {
  /** Work to do; a message goes when it is done. */
  JOBS: { ...base, name: 'JOBS', subjects: ['jobs.>'], retention: RetentionPolicy.Workqueue },
  AUDIT: {
    ...base,
    name: 'AUDIT',
    subjects: ['audit.*'],
    retention: RetentionPolicy.Limits,
    max_age: nanos(7 * DAY_MS),
  },
  ERRORS: {
    ...base,
    name: 'ERRORS',
    subjects: ['errors.*'],
    retention: RetentionPolicy.Limits,
    max_age: nanos(7 * DAY_MS),
    max_msgs: 100_000,
  },
  /** Jobs whose attempts are used up. */
  DEAD: {
    ...base,
    name: 'DEAD',
    subjects: ['dead.>'],
    retention: RetentionPolicy.Limits,
    max_age: nanos(30 * DAY_MS),
  },
} satisfies Record<string, Partial<StreamConfig> & { name: string }>

/** The stream behind the bucket of revoked tokens; auth makes it. */
export const REVOKED_STREAM = `KV_${REVOKED_BUCKET}` as const
export type StreamName = keyof typeof streams | typeof REVOKED_STREAM
/** In place of a stream: what is told to those who listen now, and kept by nobody. */
export const TOLD = 'TOLD'

/** Makes the streams, or brings their settings up to date. */
export async function ensureStreams(jsm: JetStreamManager) {
  for (const config of Object.values(streams)) {
    try {
      await jsm.streams.update(config.name, config)
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== STREAM_NOT_FOUND) throw error
      await jsm.streams.add(config)
    }
  }
}

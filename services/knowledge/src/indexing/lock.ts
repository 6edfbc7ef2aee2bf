import { type OnlyOne, onlyOne } from '@guildhall/db/only-one'
import type { Log } from '@guildhall/service/log'

/** Waits until this process alone may write the embedded index. Says in the log why it waits. */
export const takeIndexLock = (
  { url, log }: { url: string; log: Log },
  sayAfterMs?: number,
): Promise<OnlyOne> =>
  onlyOne(
    {
      ...{ url, schema: 'knowledge', log, name: 'knowledge-index' },
      waiting:
        'Another process of this database writes the embedded search index, which has one writer: stop that process. This one waits.',
      taken: 'Another process took over the search index while Postgres was away',
    },
    sayAfterMs,
  )

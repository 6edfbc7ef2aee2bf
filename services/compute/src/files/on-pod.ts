import type { Deps } from '../deps.ts'
import { podById } from '../pods/queries.ts'
import { createConnections, type Held } from './connections.ts'
import { refusal } from './refusals.ts'

/** As much of a request as says which pod it is about. */
export interface Named {
  org: { id: number }
  params: { pod_id: string }
}
export type OnPod = ReturnType<typeof createOnPod>

/** A connection to a pod, and where its volume is. */
type OfPod = Held & { mount: string }

/** Work on pods over SSH; its errors say what they mean for the path that the request names. */
export function createOnPod(deps: Deps) {
  const connections = createConnections(deps)

  /** The connection is the caller's until `release`, unless this throws. */
  async function hold<T>(
    { org, params }: Named,
    path: string | undefined,
    work: (held: OfPod) => Promise<T>,
  ): Promise<T> {
    const row = await podById(deps.db, org.id, params.pod_id)
    const mount = row.machine.volume_mount_path
    const held = await connections.hold(row)
    try {
      return await work({ ...held, mount })
    } catch (error) {
      held.release()
      throw refusal(error, path ?? mount)
    }
  }
  return {
    hold,
    work: <T>(named: Named, path: string | undefined, work: (held: OfPod) => Promise<T>) =>
      hold(named, path, async (held) => {
        const done = await work(held)
        held.release()
        return done
      }),
    close: connections.close,
  }
}

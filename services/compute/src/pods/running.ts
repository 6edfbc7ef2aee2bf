import { AppError } from '@guildhall/service/errors'
import type { HostPod } from '../clients/podhost-shapes.ts'
import type { LivePod } from '../db.ts'
import type { Deps } from '../deps.ts'
import type { SshAddress } from '../host-keys/pin.ts'
import { CA_ENV } from './rules.ts'

/**
 * A pod that runs, with the address of its SSH server. Throws 409 `pod.not_running` for any other state,
 * `pod.no_ssh` for the pod of an app, which trusts no key of the org, and what the pod host's client throws where the host does not answer.
 */
export async function runningPod(
  { live }: Pick<Deps, 'live'>,
  row: LivePod,
): Promise<{ pod: HostPod; address: SshAddress }> {
  const pod = (await live.recent(row.org_id)).get(row.pod_id)
  if (pod?.status !== 'RUNNING') throw notRunning(row, pod?.status ?? 'GONE')
  if (pod.env && !(CA_ENV in pod.env)) throw noSsh(row)
  const { direct } = pod.ssh
  if (!direct) throw noAddress()
  return { pod, address: { host: direct.host, port: direct.port } }
}

const notRunning = ({ name }: LivePod, status: string) =>
  new AppError(
    'conflict',
    'pod.not_running',
    status === 'GONE'
      ? `The pod host does not know ${name} at the moment; try again in a minute. If it stays so, an officer terminates it and makes another.`
      : `${name} does not run (${status}); an officer can start it`,
  )

const noSsh = ({ name }: LivePod) =>
  new AppError(
    'conflict',
    'pod.no_ssh',
    `${name} runs an app and trusts no key or certificate of the org, so there is no SSH and there are no files. Use another pod, or deploy the app again to change it.`,
  )

const noAddress = () =>
  new AppError(
    'conflict',
    'pod.no_address',
    'The pod host has given the pod no address for SSH yet; try again in a minute',
  )

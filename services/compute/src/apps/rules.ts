import type { Manifest } from '@guildhall/contracts/app-manifest'
import type { Machine } from '@guildhall/contracts/compute'
import { AppError } from '@guildhall/service/errors'
import type { Hide } from '../clients/podhost-errors.ts'
import type { HostPodPatch, NewHostPod } from '../clients/podhost-shapes.ts'
import { RECORD_ENV } from '../pods/rules.ts'

/** The environment variable that tells which deployment a pod runs. */
export const DEPLOYMENT_ENV = 'CLI_DEPLOYMENT'
/** What stands where the value of a secret would. */
export const HIDDEN = '***'

/** Values of secrets by the names of the org's secrets. */
export type SecretValues = Record<string, string>

interface Asked {
  manifest: Manifest
  tag: string
  secrets: SecretValues
  /** The row of the pod, and the deployment. */
  record: string
  deployment: string
}

/** What the pod host is asked to change on the pod of an app. Throws 409 for a secret that is not set. */
export function patchOf({ manifest, tag, secrets, record, deployment }: Asked): HostPodPatch {
  const { mounts } = manifest
  return {
    image: `${manifest.image}:${tag}`,
    args: manifest.args ?? '',
    disk: manifest.disk,
    ports: manifest.ports,
    registry: manifest.registry ?? null,
    env: {
      ...manifest.env,
      ...secretEnv(manifest, secrets),
      [RECORD_ENV]: record,
      [DEPLOYMENT_ENV]: deployment,
    },
    ...(mounts && { mounts }),
  }
}

/** What the pod host is asked for where the app has no pod. */
export function podOf(name: string, asked: Asked): NewHostPod {
  const { gpu, cpu, cloud, dataCenterIds } = asked.manifest
  const where = { cloud, ...(dataCenterIds && { dataCenterIds }) }
  return { name, ...where, ...(gpu && { gpu }), ...(cpu && { cpu }), ...patchOf(asked) }
}

function secretEnv({ secret_env }: Manifest, secrets: SecretValues) {
  const entries = Object.entries(secret_env)
  const unset = entries.flatMap(([, name]) => (secrets[name] === undefined ? [name] : []))
  if (unset.length > 0) throw secretsUnset([...new Set(unset)])
  return Object.fromEntries(entries.map(([name, secret]) => [name, secrets[secret] ?? '']))
}

/** The same with the values of secrets hidden, for people. */
export function hidden<B extends { env: Record<string, string> }>(body: B, manifest: Manifest): B {
  const names = Object.keys(manifest.secret_env)
  const env = { ...body.env, ...Object.fromEntries(names.map((name) => [name, HIDDEN])) }
  return { ...body, env }
}

/** Takes the values of secrets out of a text, also where they are quoted as JSON. */
export function hider(secrets: SecretValues): Hide {
  // the longest first: one may be the beginning of another
  const values = Object.values(secrets)
    .filter((value) => value !== '')
    .sort((a, b) => b.length - a.length)
  const quoted = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
  return (text) => quoted.reduce((left, value) => left.replaceAll(value, HIDDEN), text)
}

/** An error that may quote what was sent, without the values of secrets: the pod host gives reasons of its own. */
export function withoutSecrets(error: unknown, secrets: SecretValues): unknown {
  if (!(error instanceof AppError)) return error
  const message = hider(secrets)(error.message)
  if (message === error.message) return error
  const { kind, code, retryAfter } = error
  return new AppError(kind, code, message, retryAfter === undefined ? {} : { retryAfter })
}

/** The pod's machine, as the list of pods shows it. */
export function machineOfApp(manifest: Manifest, tag: string): Machine {
  const { gpu, cpu, cloud, disk, mounts } = manifest
  const { size = 0, path = mounts?.network?.[0]?.path ?? '/workspace' } = mounts?.persistent ?? {}
  return {
    image_name: `${manifest.image}:${tag}`,
    gpu: gpu ?? null,
    cpu: cpu ? { id: cpu.id, vcpu_count: cpu.vcpuCount } : null,
    cloud_type: cloud,
    volume_in_gb: size,
    volume_mount_path: path,
    container_disk_in_gb: disk,
  }
}

/** Throws 409 where the new manifest asks for what the host cannot change on a pod that is there. */
export function checkSameMachine(before: Manifest, after: Manifest, podId: string): void {
  const changed = Object.keys(fixedOf(before)).filter(
    (name) => JSON.stringify(fixedOf(before)[name]) !== JSON.stringify(fixedOf(after)[name]),
  )
  if (changed.length === 0) return
  throw new AppError(
    'conflict',
    'app.machine_changed',
    `The pod host cannot change ${changed.join(', ')} of a pod. Terminate the pod ${podId} (its own volume is deleted with it) and deploy again: then a new pod is made.`,
  )
}

function fixedOf({ gpu, cpu, cloud, dataCenterIds, mounts }: Manifest): Record<string, unknown> {
  return {
    gpu: gpu && [gpu.id, gpu.count],
    cpu: cpu && [cpu.id, cpu.vcpuCount],
    cloud,
    dataCenterIds: dataCenterIds ?? [],
    mounts: [Boolean(mounts?.persistent), mounts?.network?.[0]?.volumeId ?? null],
  }
}

const secretsUnset = (names: string[]) =>
  new AppError(
    'conflict',
    'app.secret_unset',
    `The manifest names secrets that the org has not set: ${names.join(', ')}. Set them under Secrets and deploy again.`,
  )

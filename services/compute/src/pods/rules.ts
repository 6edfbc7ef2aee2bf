import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Machine, NewPod } from '@guildhall/contracts/compute'
import { AppError } from '@guildhall/service/errors'
import type { NewHostPod } from '../clients/podhost-shapes.ts'
import type { KeyName } from '../db.ts'

/** Defaults of decisions.md § 2. */
const GPU = 'NVIDIA RTX A4000'
const GPU_COUNT = 1
const CPU = 'cpu3c'
const VCPU_COUNT = 2
const VOLUME_GB = 20
const SSH_PORT = '22/tcp'
/** The environment variable by which alone a pod on the host is known to be ours. */
export const RECORD_ENV = 'CLI_POD_RECORD'
/** By which a pod trusts the org's certificates. */
export const CA_ENV = 'CLI_SSH_CA_PUBLIC_KEY'

/** Shell text that a pod runs as root before sshd; it installs what the image lacks (deploy/pod-image). */
const CLI_SETUP = readFileSync(
  new URL('../../../../deploy/pod-image/cli-setup.sh', import.meta.url),
  'utf8',
)
/** Where the image expects the volume, unless CLI_WORKSPACE says otherwise. */
const WORKSPACE = '/workspace'

/** What is told of a pod whose files are gone after each stop. */
export const NO_VOLUME =
  'This pod has no volume: each stop deletes all files on it. Copy what matters elsewhere.'

export const newName = () => `pod-${randomBytes(4).toString('hex')}`

/** The machine that a create body asks for. Throws 400 for values that do not go together. */
export function machineOf(body: NewPod, image_name: string): Machine {
  checkTogether(body)
  const { use_cpu_only, gpu_type_id = GPU, cpu_flavor = CPU } = body
  return {
    image_name,
    gpu: use_cpu_only ? null : { id: gpu_type_id, count: GPU_COUNT },
    cpu: use_cpu_only ? { id: cpu_flavor, vcpu_count: VCPU_COUNT } : null,
    cloud_type: body.cloud_type,
    volume_in_gb: use_cpu_only ? 0 : (body.volume_in_gb ?? VOLUME_GB),
    volume_mount_path: body.volume_mount_path,
    container_disk_in_gb: body.container_disk_in_gb,
  }
}

function checkTogether({ use_cpu_only, gpu_type_id, cpu_flavor, volume_in_gb, env }: NewPod) {
  if (use_cpu_only && gpu_type_id !== undefined)
    throw refuse('gpu_type_id', 'A pod with use_cpu_only has no GPU: leave gpu_type_id out')
  if (!use_cpu_only && cpu_flavor !== undefined)
    throw refuse('cpu_flavor', 'cpu_flavor needs use_cpu_only: true')
  if (use_cpu_only && volume_in_gb)
    throw refuse('volume_in_gb', 'The pod host gives CPU pods no volume: leave volume_in_gb out')
  const own = Object.keys(env).find((name) => name.startsWith('CLI_'))
  if (own) throw refuse(`env/${own}`, `Names that begin with CLI_ are the service's own: ${own}`)
}

function refuse(field: string, message: string): AppError {
  const [name = field] = field.split('/')
  return new AppError('invalid', `pod.${name}`, message, {
    details: [{ path: `/body/${field}`, message }],
  })
}

interface Asked {
  record: string
  name: string
  machine: Machine
  env: Record<string, string>
  keys: Record<KeyName, string>
}

/** What the pod host is asked for. */
export function hostPodOf({ record, name, machine, env, keys }: Asked): NewHostPod {
  const { gpu, cpu, volume_in_gb: size, volume_mount_path: path } = machine
  return {
    name,
    image: machine.image_name,
    cloud: machine.cloud_type,
    disk: machine.container_disk_in_gb,
    ports: [SSH_PORT],
    env: {
      ...env,
      CLI_SSH_PUBLIC_KEY: keys.backend,
      [CA_ENV]: keys.user_ca,
      CLI_SETUP,
      ...(path !== WORKSPACE && { CLI_WORKSPACE: path }),
      [RECORD_ENV]: record,
    },
    ...(gpu && { gpu }),
    ...(cpu && { cpu: { id: cpu.id, vcpuCount: cpu.vcpu_count } }),
    ...(size > 0 && { mounts: { persistent: { size, path } } }),
  }
}

/** The body's image, else the org's, else the deployment's. Throws 503 where there is none. */
export function imageOf(...images: (string | null | undefined)[]): string {
  const image = images.find((one) => one)
  if (image) return image
  throw new AppError(
    'unavailable',
    'compute.image_unset',
    "No image is set for pods: name one as image_name, set the org's under Settings, or set COMPUTE_POD_IMAGE",
  )
}

import { z } from 'zod'

const EnvName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
const EnvValue = z.string().refine((value) => !value.includes('\0'), 'must not contain NUL')
const Persistent = z.strictObject({ size: z.int().min(10), path: z.string() })
const Network = z.strictObject({ volumeId: z.string(), path: z.string() })
const Mounts = z.strictObject({
  persistent: Persistent.optional(),
  network: z.array(Network).max(1).optional(),
})
const CudaVersion = z.string().regex(/^\d+\.\d+$/)
const Gpu = z.strictObject({
  id: z.string(),
  count: z.int().min(1).default(1),
  allowedCudaVersions: z.array(CudaVersion).optional(),
  minCudaVersion: CudaVersion.optional(),
})
const Cpu = z.strictObject({ id: z.string().min(1), vcpuCount: z.int().min(2) })

const container = {
  args: z.string(),
  disk: z.int().min(1),
  env: z.record(EnvName, EnvValue),
  image: z.string().min(1),
  ports: z.array(z.string()),
  registry: z.string().nullable(),
}

/** Body of `POST /pods` (the official CreatePodRequest, without templates). */
export const NewPod = z.strictObject({
  ...container,
  args: container.args.default(''),
  disk: container.disk.default(50),
  env: container.env.default({}),
  ports: container.ports.default([]),
  registry: container.registry.default(null),
  name: z.string().min(1),
  cloud: z.enum(['SECURE', 'COMMUNITY']).default('SECURE'),
  cpu: Cpu.optional(),
  gpu: Gpu.optional(),
  mounts: Mounts.default({}),
  dataCenterIds: z.array(z.string()).optional(),
  globalNetworking: z.boolean().optional(),
  startJupyter: z.boolean().optional(),
  startSsh: z.boolean().optional(),
})
export type NewPod = z.output<typeof NewPod>

/** Body of `PATCH /pods/{id}`: only what it names changes. */
export const PodPatch = z
  .strictObject({
    ...container,
    name: z.string().min(1),
    locked: z.boolean(),
    mounts: Mounts,
    globalNetworking: z.boolean(),
  })
  .partial()
export type PodPatch = z.output<typeof PodPatch>

export const PodAction = z.strictObject({
  action: z.enum(['start', 'stop', 'restart', 'terminate']),
})
export type PodAction = z.output<typeof PodAction>['action']

/** What is kept of a pod on disk; the rest is known while it runs. */
export const PodRecord = z.object({
  id: z.string(),
  /** Whose key made it: a hash of the key. */
  account: z.string(),
  /** Which range of user ids is its own, from 0. */
  slot: z.int(),
  config: NewPod,
  locked: z.boolean(),
  wanted: z.enum(['running', 'stopped']),
  createdAt: z.string(),
})
export type PodRecord = z.output<typeof PodRecord>

/** In USD per hour: the GPU and CPU types that the emulated host has in stock. */
const GPU_PRICES: Record<string, number> = {
  'NVIDIA RTX A4000': 0.17,
  'NVIDIA GeForce RTX 3090': 0.22,
  'NVIDIA GeForce RTX 4090': 0.34,
  'NVIDIA A100 80GB PCIe': 1.19,
}
const CPU_PRICES: Record<string, number> = { cpu3c: 0.03, cpu3g: 0.04, cpu3m: 0.055, cpu5c: 0.035 }
const MOUNT_PATH = /^(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/
const SYSTEM_PATH = /^\/(bin|boot|dev|etc|lib\w*|old|proc|run|sbin|sys|usr)(\/|$)/

/** The host's price per hour, or nothing for a type that it does not have. */
export function priceOf({ gpu, cpu }: Pick<NewPod, 'gpu' | 'cpu'>): number | undefined {
  const each = gpu ? GPU_PRICES[gpu.id] : CPU_PRICES[cpu?.id ?? '']
  return each && each * (gpu?.count ?? cpu?.vcpuCount ?? 1)
}

/** The rule between fields that a pod breaks, as the host answers 400; or nothing. */
export function brokenRule({ gpu, cpu, mounts }: NewPod): string | undefined {
  if (Boolean(gpu) === Boolean(cpu)) return 'exactly one of gpu or cpu must be set'
  if (cpu && mounts.persistent) return 'mounts.persistent is not supported on CPU pods'
  if (cpu && !Number.isInteger(Math.log2(cpu.vcpuCount))) return 'vcpuCount must be a power of two'
  if (mounts.persistent && mounts.network) return 'mounts takes one of persistent or network'
  if (mounts.network) return 'network volume not found'
  const path = mounts.persistent?.path
  if (path && (!MOUNT_PATH.test(path) || SYSTEM_PATH.test(path)))
    return `cannot mount a volume at ${path}`
  if (priceOf({ gpu, cpu }) === undefined) return 'no instances available for the requested type'
  return undefined
}

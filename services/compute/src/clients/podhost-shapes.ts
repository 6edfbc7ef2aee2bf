import { z } from 'zod'

/** As much of the pod host's description (RunPod REST v2) as compute reads. */

const STATUSES = ['PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR', 'TERMINATED'] as const

const Endpoint = z.object({ host: z.string().min(1), port: z.int().min(1).max(65_535) })

export const HostPod = z.object({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  status: z.enum([...STATUSES, 'UNKNOWN']).catch('UNKNOWN'),
  cost: z.number(),
  env: z.record(z.string(), z.string()).nullish(),
  ssh: z.object({ direct: Endpoint.nullish() }),
  startedAt: z.string().nullish(),
})
export type HostPod = z.output<typeof HostPod>

export const HostPods = z.object({ pods: z.array(HostPod) })

/** RFC 9457, as the host answers refusals. */
export const HostProblem = z.object({
  detail: z.string(),
  errors: z.array(z.string()).optional(),
})

/** One event of a pod's log stream. */
export const HostLogLine = z.object({ line: z.string() })

/** Body of POST /pods; exactly one of gpu and cpu. */
export interface NewHostPod {
  name: string
  image: string
  cloud: 'COMMUNITY' | 'SECURE'
  disk: number
  ports: string[]
  env: Record<string, string>
  gpu?: { id: string; count: number }
  cpu?: { id: string; vcpuCount: number }
  mounts?: HostMounts | undefined
  dataCenterIds?: string[] | undefined
  args?: string
  registry?: string | null
}

export interface HostMounts {
  persistent?: { size: number; path: string } | undefined
  network?: { volumeId: string; path: string }[] | undefined
}

/** Body of PATCH /pods/{id}; what it does not name stays. */
export type HostPodPatch = Pick<
  NewHostPod,
  'image' | 'disk' | 'ports' | 'env' | 'args' | 'registry' | 'mounts'
>

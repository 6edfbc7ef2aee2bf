import { z } from 'zod'
import { officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import { job } from './job.ts'
import { PodId, PodNamed, PodParams, PodSaid, Session } from './pod-sessions.ts'
import { route } from './route.ts'

/** Pods, their sessions and the certificates that open them (interface.md, Pod; decisions.md § 2). */

/** Chat users that one pod may list. */
export const MOST_ALLOWED_USERS = 1_000

/** The pod host's own states; GONE: it does not know the pod; UNKNOWN: it does not answer. Only RUNNING runs. */
export const PodStatus = z.enum([
  'PROVISIONING',
  'STARTING',
  'RUNNING',
  'EXITED',
  'ERROR',
  'TERMINATED',
  'GONE',
  'UNKNOWN',
])
export type PodStatus = z.output<typeof PodStatus>

export const CloudType = z.enum(['COMMUNITY', 'SECURE'])

/** What a pod runs on, as it was asked for. */
export const Machine = z
  .object({
    image_name: z.string(),
    gpu: z.object({ id: z.string(), count: z.int() }).nullable(),
    cpu: z.object({ id: z.string(), vcpu_count: z.int() }).nullable(),
    cloud_type: CloudType,
    volume_in_gb: z.int(),
    volume_mount_path: z.string(),
    container_disk_in_gb: z.int(),
  })
  .meta({ id: 'PodMachine' })
export type Machine = z.output<typeof Machine>

/** Where a pod is reached. */
export const Address = {
  host: z.string().nullable().describe('Where SSH answers while the pod runs'),
  port: z.int().nullable(),
}
/** How a pod is called. */
export const Named = { pod_id: PodId, id: PodId.describe('The same'), name: z.string() }

export const Pod = z
  .object({
    ...Named,
    status: PodStatus,
    is_public: z.boolean().describe('Every member of the chat server may connect'),
    allowed_users: z.array(ChatUserId).describe('Those who may where it is not public'),
    created_by: z
      .string()
      .nullable()
      .describe('A chat user id, or the id of a machine token; null where nobody noted it'),
    created_at: Instant,
    machine: Machine,
    cost_per_hour: z.number().nullable().describe('US dollars now; null while the host is silent'),
    ...Address,
    host_key: z
      .string()
      .nullable()
      .describe('SHA256 fingerprint of the SSH key pinned at this start'),
    sessions: z.array(Session).describe('Those that are not over'),
    warning: z.string().optional(),
  })
  .meta({ id: 'Pod' })
export type Pod = z.output<typeof Pod>

const AllowedUsers = z
  .array(ChatUserId)
  .max(MOST_ALLOWED_USERS)
  .transform((ids) => [...new Set(ids)])
const Image = z
  .string()
  .trim()
  .max(500)
  .regex(/^[a-z0-9][\w./:@-]*$/i, 'an image is named as docker pull takes it')

/** Sizes in GB: 0 or 10 to 2000 for the volume, 1 to 500 for the container's own disk. */
export const NewPod = z.object({
  name: z.string().trim().min(1).max(100).optional(),
  image_name: Image.optional(),
  gpu_type_id: z.string().trim().min(1).max(100).optional(),
  use_cpu_only: z.boolean().default(false),
  cpu_flavor: z.string().trim().min(1).max(100).optional(),
  cloud_type: CloudType.default('COMMUNITY'),
  volume_in_gb: z
    .int()
    .refine((gb) => gb === 0 || (gb >= 10 && gb <= 2000), 'is 0, or 10 to 2000')
    .optional(),
  container_disk_in_gb: z.int().min(1).max(500).default(20),
  volume_mount_path: z
    .string()
    .max(255)
    .regex(/^(\/[\w.-]+)+$/, 'is an absolute path such as /workspace')
    .refine((path) => !path.split('/').some((part) => /^\.\.?$/.test(part)), 'has no . or .. part')
    .default('/workspace'),
  env: z
    .record(
      z
        .string()
        .max(200)
        .regex(/^[A-Za-z_]\w*$/, 'a name is letters, digits and _'),
      z.string().max(16_384),
    )
    .default({}),
  is_public: z.boolean().default(false),
  allowed_users: AllowedUsers.default([]),
})
export type NewPod = z.output<typeof NewPod>

export const PodAccess = z
  .object({ is_public: z.boolean(), allowed_users: AllowedUsers })
  .partial()
  .refine((access) => Object.keys(access).length > 0, 'name is_public, allowed_users or both')
export type PodAccess = z.output<typeof PodAccess>

export const PodAction = z.enum(['start', 'stop', 'restart', 'terminate'])
export type PodAction = z.output<typeof PodAction>

const onePod = z.object({ pod: Pod })

export const listPods = route({
  method: 'GET',
  url: '/api/compute/:org/pods',
  summary:
    'Pods made here with live status, the newest first; X-Degraded: podhost where it is unknown',
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: OrgParams,
  query: Paging,
  reply: { 200: z.object({ pods: z.array(Pod), next_cursor: nextCursor }) },
})

export const createPod = route({
  method: 'POST',
  url: '/api/compute/:org/pods',
  summary: "Make a pod on the org's own account at the pod host",
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: OrgParams,
  body: NewPod,
  idempotent: true,
  reply: { 201: onePod },
})

export const getPod = route({
  method: 'GET',
  url: '/api/compute/:org/pods/:pod_id',
  summary: 'One pod with live status',
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: PodParams,
  reply: { 200: onePod },
})

export const changePodAccess = route({
  method: 'PUT',
  url: '/api/compute/:org/pods/:pod_id',
  summary: 'Choose who may connect to a pod',
  owner: 'compute',
  caller: officer,
  module: 'compute',
  params: PodParams,
  body: PodAccess,
  reply: { 200: onePod },
})

export const actOnPod = route({
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/action',
  summary: 'Start, stop, restart or terminate a pod; terminate also removes it from the list',
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: PodParams,
  body: z.object({ action: PodAction }),
  reply: { 200: z.object({ id: PodId, action: PodAction, status: PodStatus }) },
})

export const acceptHostKey = route({
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/host-key',
  summary: 'Accept the changed SSH host key of a running pod by its fingerprint',
  owner: 'compute',
  caller: officer,
  module: 'compute',
  params: PodParams,
  body: z.object({
    fingerprint: z
      .string()
      .trim()
      .regex(/^SHA256:[A-Za-z0-9+/]{43}$/, 'is what ssh-keygen -lf shows: SHA256:…'),
  }),
  reply: { 200: onePod },
})

const ComputeSettings = z.object({
  settings: z.object({
    pod_image: z.string().nullable().describe("The org's own default image"),
    deployment_pod_image: z.string().nullable().describe('What counts where the org has none'),
  }),
})

export const getComputeSettings = route({
  method: 'GET',
  url: '/api/compute/:org/settings',
  summary: 'The image that pods get where none is named',
  owner: 'compute',
  caller: officer,
  module: 'compute',
  params: OrgParams,
  reply: { 200: ComputeSettings },
})

export const putComputeSettings = route({
  method: 'PUT',
  url: '/api/compute/:org/settings',
  summary: "Set the org's default image, or clear it with null",
  owner: 'compute',
  caller: officer,
  module: 'compute',
  params: OrgParams,
  body: z.object({ pod_image: Image.nullable() }),
  reply: { 200: ComputeSettings },
})

export const reconcilePods = job({
  name: 'compute.reconcile',
  summary: 'See to pods whose making or change was never answered',
  args: z.object({}),
  cron: '* * * * *',
  attempts: 1,
  concurrency: 1,
  audited: false,
})

export const podCreated = audited('compute.pod.created', PodSaid)
export const podAccessChanged = audited(
  'compute.pod.access_changed',
  PodSaid.extend({ is_public: z.boolean(), allowed_users: z.int().describe('How many') }),
)
export const podStarted = audited('compute.pod.started', PodSaid)
export const podStopped = audited('compute.pod.stopped', PodSaid)
export const podRestarted = audited('compute.pod.restarted', PodSaid)
export const podTerminated = audited('compute.pod.terminated', PodSaid)
export const hostKeyAccepted = audited(
  'compute.host_key.accepted',
  PodNamed.extend({ fingerprint: z.string() }),
)
export const computeSettingsChanged = audited(
  'compute.settings.changed',
  z.object({ pod_image: z.string().nullable() }),
)

import { z } from 'zod'
import { memberOrCli } from './caller.ts'
import { Address, Named, PodStatus } from './compute.ts'
import { audited } from './event.ts'
import { OrgParams } from './fields.ts'
import { PodParams, PodSaid } from './pod-sessions.ts'
import { route } from './route.ts'

/** How members come to pods (interface.md, Connect certificate and Compute, member routes). */

export const listMyPods = route({
  method: 'GET',
  url: '/api/compute/:org/me/pods',
  summary:
    'Running pods that are public or list the caller; X-Degraded: podhost where that is unknown',
  owner: 'compute',
  caller: memberOrCli,
  module: 'compute',
  params: OrgParams,
  reply: {
    200: z.object({ pods: z.array(z.object({ ...Named, status: PodStatus, ...Address })) }),
  },
})

export const connectToPod = route({
  method: 'POST',
  url: '/api/compute/:org/me/pods/:pod_id/connect',
  summary: 'A certificate for an SSH key of the caller, good for 12 hours on this pod',
  owner: 'compute',
  caller: memberOrCli,
  module: 'compute',
  params: PodParams,
  body: z.object({ public_key: z.string().max(16_384) }),
  noStore: true,
  rate: 'connect',
  reply: {
    200: z.object({
      host: z.string(),
      port: z.int(),
      username: z.literal('root'),
      user_folder: z.string().describe("The member's account and folder on every pod of the org"),
      is_admin: z.boolean().describe('The certificate opens a root shell'),
      certificate: z.string().describe('One line, for <key>-cert.pub'),
      known_hosts: z
        .string()
        .nullable()
        .describe('One line for known_hosts; null: keys are not pinned'),
    }),
  },
})

export const memberConnected = audited(
  'compute.certificate.issued',
  PodSaid.extend({ serial: z.int(), key_id: z.string(), is_admin: z.boolean() }),
)

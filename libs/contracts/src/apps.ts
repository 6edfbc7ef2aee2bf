import { z } from 'zod'
import { AppKind, Manifest } from './app-manifest.ts'
import { machine } from './caller.ts'
import { Pod } from './compute.ts'
import { audited } from './event.ts'
import { Instant, nextCursor, Paging } from './fields.ts'
import { job } from './job.ts'
import { PodId } from './pod-sessions.ts'
import { route } from './route.ts'

/** Apps on pods of an org: registered by a manifest, deployed by a tag (decisions.md § 2, Apps). */

/** Deployments that are listed of an app, the newest. */
export const SHOWN_DEPLOYMENTS = 20

const AppName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'a name begins with a letter and is up to 40 of a-z 0-9 -')
export const AppParams = z.object({ name: AppName })
const Repo = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,38}\/[\w.-]{1,100}$/, 'is owner/name on the code host')
  .refine((repo) => !/\/\.\.?$/.test(repo), 'is owner/name on the code host')
const ManifestPath = z
  .string()
  .max(300)
  .regex(/^[\w.-]+(\/[\w.-]+)*$/, 'is a path in the repository, as deploy/app.json')
  .refine((path) => !path.split('/').some((part) => /^\.\.?$/.test(part)), 'has no . or .. part')
/** Where the manifest lies in a repository that says nothing else. */
export const DEFAULT_MANIFEST_PATH = 'guildhall.json'

const Tag = z
  .string()
  .regex(/^\w[\w.-]{0,127}$/, 'a tag is up to 128 letters, digits, _ . and -, as docker takes it')
const GitRef = z
  .string()
  .max(200)
  .regex(/^[\w][\w./-]*$/, 'is a branch, a tag or a commit')
  .refine((ref) => !ref.includes('..'), 'is a branch, a tag or a commit')

export const App = z
  .object({
    name: AppName,
    kind: AppKind,
    description: z.string(),
    url: z.string().nullable(),
    manifest: Manifest.describe('As read last'),
    repo: z.string().nullable().describe('Where the manifest is read again at each deploy'),
    manifest_path: z.string().nullable(),
    current_tag: z.string().nullable().describe('The last one that was healthy'),
    pod_id: PodId.nullable(),
    created_at: Instant,
    updated_at: Instant,
  })
  .meta({ id: 'App' })
export type App = z.output<typeof App>

export const DeploymentState = z.enum(['deploying', 'healthy', 'failed', 'replaced'])

export const Deployment = z
  .object({
    id: z.uuid(),
    tag: z.string(),
    ref: z.string().nullable(),
    commit: z.string().nullable().describe('Where the manifest was read'),
    state: DeploymentState.describe('replaced: another deploy came before it was healthy'),
    error: z.string().nullable().describe('Why it failed'),
    rollback: z.boolean(),
    pod_id: PodId.nullable().describe('null until the pod host has answered'),
    created_by: z.string().describe('A chat user id, or the id of a machine token'),
    created_at: Instant,
    finished_at: Instant.nullable(),
  })
  .meta({ id: 'AppDeployment' })
export type Deployment = z.output<typeof Deployment>

/** What the pod host would be asked for. Values of secrets are `***`. */
export const DryRun = z
  .object({
    dry_run: z.literal(true),
    action: z.enum(['create', 'update']),
    pod_id: PodId.nullable(),
    commit: z.string().nullable(),
    pod: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AppDryRun' })
export type DryRun = z.output<typeof DryRun>

export const NewApp = z
  .strictObject({
    manifest: Manifest.optional(),
    repo: Repo.optional(),
    manifest_path: ManifestPath.optional(),
  })
  .refine(
    ({ manifest, repo, manifest_path }) =>
      manifest ? !repo && !manifest_path : repo !== undefined,
    'send manifest, or repo and perhaps manifest_path',
  )
export type NewApp = z.output<typeof NewApp>

export const NewDeployment = z.strictObject({
  tag: Tag.describe('Of the image'),
  ref: GitRef.optional().describe("Where the manifest is read; the repository's default branch"),
  dry_run: z.boolean().default(false),
})
export type NewDeployment = z.output<typeof NewDeployment>
export const NewRollback = z.strictObject({ dry_run: z.boolean().default(false) }).default({
  dry_run: false,
})

const Started = z.object({ deployment: Deployment, pod_id: PodId.nullable() })

/** The answers of the apps routes, which the dashboard's mirror gives too. */
export const appReplies = {
  list: { 200: z.object({ apps: z.array(App), next_cursor: nextCursor }) },
  get: { 200: App },
  put: { 200: App, 201: App },
  remove: {
    200: z.object({
      deleted: z.literal(true),
      pod_id: PodId.nullable(),
      message: z.string().describe('That the pod goes on running, and how to end it'),
    }),
  },
  deployments: { 200: z.object({ deployments: z.array(Deployment).max(SHOWN_DEPLOYMENTS) }) },
  pod: { 200: z.object({ pod: Pod }) },
  deploy: { 200: DryRun, 202: Started },
}

export const listApps = route({
  method: 'GET',
  url: '/api/apps',
  summary: "The org's apps, the newest first",
  owner: 'compute',
  caller: machine('apps:read'),
  module: 'apps',
  query: Paging,
  reply: appReplies.list,
})

export const getApp = route({
  method: 'GET',
  url: '/api/apps/:name',
  summary: 'One app with its manifest',
  owner: 'compute',
  caller: machine('apps:read'),
  module: 'apps',
  params: AppParams,
  reply: appReplies.get,
})

export const listDeployments = route({
  method: 'GET',
  url: '/api/apps/:name/deployments',
  summary: 'The last 20 deployments of an app, the newest first',
  owner: 'compute',
  caller: machine('apps:read'),
  module: 'apps',
  params: AppParams,
  reply: appReplies.deployments,
})

export const getAppPod = route({
  method: 'GET',
  url: '/api/apps/:name/pod',
  summary: 'The pod that an app runs on, with live status',
  owner: 'compute',
  caller: machine('apps:read'),
  module: 'apps',
  params: AppParams,
  reply: appReplies.pod,
})

export const putApp = route({
  method: 'PUT',
  url: '/api/apps/:name',
  summary: 'Register an app by its manifest or by the repository that holds it',
  owner: 'compute',
  caller: machine('apps:manage'),
  module: 'apps',
  params: AppParams,
  body: NewApp,
  reply: appReplies.put,
})

export const deleteApp = route({
  method: 'DELETE',
  url: '/api/apps/:name',
  summary: 'Forget an app and its deployments; its pod goes on running',
  owner: 'compute',
  caller: machine('apps:manage'),
  module: 'apps',
  params: AppParams,
  reply: appReplies.remove,
})

export const deployApp = route({
  method: 'POST',
  url: '/api/apps/:name/deploy',
  summary: "Run another tag of an app's image",
  owner: 'compute',
  caller: machine('apps:deploy'),
  module: 'apps',
  params: AppParams,
  body: NewDeployment,
  idempotent: true,
  reply: appReplies.deploy,
})

export const rollBackApp = route({
  method: 'POST',
  url: '/api/apps/:name/rollback',
  summary: 'Deploy again what was healthy before, with another tag than the last deploy',
  owner: 'compute',
  caller: machine('apps:manage'),
  module: 'apps',
  params: AppParams,
  body: NewRollback,
  idempotent: true,
  reply: appReplies.deploy,
})

export const checkDeployments = job({
  name: 'apps.check_deployments',
  owner: 'compute',
  summary: 'Ask the health paths of apps that are being deployed',
  args: z.object({}),
  cron: '* * * * *',
  attempts: 1,
  concurrency: 1,
  audited: false,
})

const AppNamed = z.object({ app: AppName })
const DeploymentNamed = AppNamed.extend({ deployment_id: z.uuid(), tag: z.string() })
export const appRegistered = audited(
  'compute.app.registered',
  AppNamed.extend({ repo: z.string().nullable() }),
)
export const appDeleted = audited(
  'compute.app.deleted',
  AppNamed.extend({ pod_id: PodId.nullable() }),
)
export const appDeployStarted = audited(
  'compute.app.deploy_started',
  DeploymentNamed.extend({ rollback: z.boolean() }),
)
export const appDeployed = audited('compute.app.deployed', DeploymentNamed)
export const appDeployFailed = audited('compute.app.deploy_failed', DeploymentNamed)

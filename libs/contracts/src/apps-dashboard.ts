import { AppParams, appReplies, NewApp, NewDeployment, NewRollback } from './apps.ts'
import { officer, officerOrTool } from './caller.ts'
import { OrgParams, Paging } from './fields.ts'
import { route } from './route.ts'

/** The apps routes once more for officers (interface.md, Dashboard routes). */

const OrgAppParams = OrgParams.extend(AppParams.shape)

export const listOrgApps = route({
  method: 'GET',
  url: '/api/dashboard/:org/apps',
  summary: "The org's apps, the newest first",
  owner: 'compute',
  caller: officer,
  module: 'apps',
  params: OrgParams,
  query: Paging,
  reply: appReplies.list,
})

export const getOrgApp = route({
  method: 'GET',
  url: '/api/dashboard/:org/apps/:name',
  summary: 'One app with its manifest',
  owner: 'compute',
  caller: officerOrTool('apps:manage'),
  module: 'apps',
  params: OrgAppParams,
  reply: appReplies.get,
})

export const listOrgDeployments = route({
  method: 'GET',
  url: '/api/dashboard/:org/apps/:name/deployments',
  summary: 'The last 20 deployments of an app, the newest first',
  owner: 'compute',
  caller: officer,
  module: 'apps',
  params: OrgAppParams,
  reply: appReplies.deployments,
})

export const getOrgAppPod = route({
  method: 'GET',
  url: '/api/dashboard/:org/apps/:name/pod',
  summary: 'The pod that an app runs on, with live status',
  owner: 'compute',
  caller: officer,
  module: 'apps',
  params: OrgAppParams,
  reply: appReplies.pod,
})

export const putOrgApp = route({
  method: 'PUT',
  url: '/api/dashboard/:org/apps/:name',
  summary: 'Register an app by its manifest or by the repository that holds it',
  owner: 'compute',
  caller: officer,
  module: 'apps',
  params: OrgAppParams,
  body: NewApp,
  reply: appReplies.put,
})

export const deleteOrgApp = route({
  method: 'DELETE',
  url: '/api/dashboard/:org/apps/:name',
  summary: 'Forget an app and its deployments; its pod goes on running',
  owner: 'compute',
  caller: officer,
  module: 'apps',
  params: OrgAppParams,
  reply: appReplies.remove,
})

export const deployOrgApp = route({
  method: 'POST',
  url: '/api/dashboard/:org/apps/:name/deploy',
  summary: "Run another tag of an app's image",
  owner: 'compute',
  caller: officer,
  module: 'apps',
  params: OrgAppParams,
  body: NewDeployment,
  idempotent: true,
  reply: appReplies.deploy,
})

export const rollBackOrgApp = route({
  method: 'POST',
  url: '/api/dashboard/:org/apps/:name/rollback',
  summary: 'Deploy again what was healthy before, with another tag than the last deploy',
  owner: 'compute',
  caller: officer,
  module: 'apps',
  params: OrgAppParams,
  body: NewRollback,
  idempotent: true,
  reply: appReplies.deploy,
})

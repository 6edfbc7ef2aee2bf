import {
  type DryRun,
  deleteApp,
  deployApp,
  getApp,
  getAppPod,
  listApps,
  listDeployments,
  type NewDeployment,
  putApp,
  rollBackApp,
} from '@guildhall/contracts/apps'
import {
  deleteOrgApp,
  deployOrgApp,
  getOrgApp,
  getOrgAppPod,
  listOrgApps,
  listOrgDeployments,
  putOrgApp,
  rollBackOrgApp,
} from '@guildhall/contracts/apps-dashboard'
import type { OrgRef, Sent } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { openSessions, podByRecord } from '../pods/queries.ts'
import { DEGRADED, PODHOST } from '../pods/routes.ts'
import { shownPod } from '../pods/shown.ts'
import { whyError } from '../pods/why-error.ts'
import type { Deploying, OfApp } from './asked.ts'
import { deploy, type Started } from './deploy.ts'
import { appByName, appsOfOrg, deploymentsOf, lastHealthy } from './queries.ts'
import { noPodYet, register, remove, wantedOf } from './register.ts'
import { checkRepos } from './repo-limits.ts'
import { shownApp, shownDeployment } from './shown.ts'

interface Listing {
  org: OrgRef
  query: { limit: number; cursor?: string | undefined }
}

/** As much of a reply as the two routes of each deploy share. */
interface DeployReply {
  code(status: 200): { send(body: DryRun): Sent }
  code(status: 202): { send(body: Started): Sent }
}

/** The apps routes, for machine tokens and once more for officers. */
export function appRoutes(app: App, deps: Deps) {
  const { db } = deps

  const list = async ({ org, query: { limit, cursor } }: Listing) => {
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['apps', org.id] },
      (page) => appsOfOrg(db, org.id, page),
    )
    return { apps: items.map(shownApp), next_cursor }
  }
  app.implement(listApps, list)
  app.implement(listOrgApps, list)

  const get = async ({ org, params }: OfApp) => shownApp(await appByName(db, org.id, params.name))
  app.implement(getApp, get)
  app.implement(getOrgApp, get)

  const deployments = async ({ org, params }: OfApp) => {
    const { id } = await appByName(db, org.id, params.name)
    return { deployments: (await deploymentsOf(db, id)).map(shownDeployment) }
  }
  app.implement(listDeployments, deployments)
  app.implement(listOrgDeployments, deployments)

  const put = async (input: Parameters<typeof register>[1]) => {
    const { created } = await register(deps, input)
    return { status: created ? (201 as const) : (200 as const), shown: await get(input) }
  }
  app.implement(putApp, async (input, reply) => {
    const { status, shown } = await put(input)
    return reply.code(status).send(shown)
  })
  app.implement(putOrgApp, async (input, reply) => {
    const { status, shown } = await put(input)
    return reply.code(status).send(shown)
  })
  app.implement(deleteApp, (input) => remove(deps, input))
  app.implement(deleteOrgApp, (input) => remove(deps, input))
  podRoutes(app, deps)
  deployRoutes(app, deps)
}

function podRoutes(app: App, deps: Deps) {
  const { db, live } = deps
  const read = async ({ org, params }: OfApp) => {
    const found = await appByName(db, org.id, params.name)
    const row = found.pod ? await podByRecord(db, found.pod) : undefined
    if (!row?.pod_id) throw noPodYet(params.name)
    const pod = { ...row, pod_id: row.pod_id }
    const seen = await live.nowOrUnknown(org.id)
    const [open, why] = await Promise.all([openSessions(db, [row]), whyError(deps, pod, seen)])
    return { pod: shownPod(pod, seen, { sessions: open.get(row.id), why }), degraded: !seen }
  }
  app.implement(getAppPod, async (input, reply) => {
    const { pod, degraded } = await read(input)
    if (degraded) reply.header(DEGRADED, PODHOST)
    return reply.code(200).send({ pod })
  })
  app.implement(getOrgAppPod, async (input, reply) => {
    const { pod, degraded } = await read(input)
    if (degraded) reply.header(DEGRADED, PODHOST)
    return reply.code(200).send({ pod })
  })
}

function deployRoutes(app: App, deps: Deps) {
  const { db } = deps

  const start = async (
    asked: Deploying & { input: { body: NewDeployment } },
    reply: DeployReply,
  ) => {
    const { org, params, body } = asked.input
    const found = await appByName(db, org.id, params.name)
    await checkRepos(deps, asked.input, [found.repo])
    const wanted = await wantedOf(deps, found, body)
    return answer(await deploy(deps, asked, found, wanted), reply)
  }
  app.implement(deployApp, (input, reply) => start({ input, route: deployApp }, reply))
  app.implement(deployOrgApp, (input, reply) => start({ input, route: deployOrgApp }, reply))

  const rollBack = async (asked: Deploying, reply: DeployReply) => {
    const { org, params } = asked.input
    const found = await appByName(db, org.id, params.name)
    await checkRepos(deps, asked.input, [found.repo])
    const { manifest, tag, ref, commit } = await lastHealthy(db, found)
    const wanted = { manifest, tag, ref, commit, rollback: true }
    return answer(await deploy(deps, asked, found, wanted), reply)
  }
  app.implement(rollBackApp, (input, reply) => rollBack({ input, route: rollBackApp }, reply))
  app.implement(rollBackOrgApp, (input, reply) => rollBack({ input, route: rollBackOrgApp }, reply))
}

const answer = (done: DryRun | Started, reply: DeployReply) =>
  'dry_run' in done ? reply.code(200).send(done) : reply.code(202).send(done)

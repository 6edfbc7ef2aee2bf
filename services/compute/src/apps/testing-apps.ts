import type { TestContext } from 'node:test'
import { checkDeployments, getApp, listDeployments, putApp } from '@guildhall/contracts/apps'
import { testSandbox } from '@guildhall/sandbox/testing'
import type { Identity } from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { testCompute } from '../testing.ts'

/** The manifest of a site on a CPU pod. */
export const SITE = {
  image: 'ghcr.io/club/site',
  cpu: { id: 'cpu3c', vcpuCount: 2 },
  ports: ['8080/http'],
  health: { port: 8080, path: '/health' },
}
export const params = { name: 'site' }

/** A machine token of an org that holds every scope of apps. */
export const ci = (id = 1): Partial<Identity> => ({
  org: { id, prefix: `org${id}`, name: `Org ${id}`, modules: ['apps'], publisher: false },
  caller: {
    kind: 'machine',
    token_id: CI_TOKENS[id] ?? newId(),
    token_kind: 'app',
    name: 'ci',
    scopes: ['apps:read', 'apps:manage', 'apps:deploy'],
  },
})
const CI_TOKENS: Record<number, string> = { 1: newId() }

/** compute with the sandbox's pod host, its proxy to pods and its code host. */
export async function testApps(t: TestContext, more: Env = {}) {
  const { world, ...sandbox } = await testSandbox(t)
  const compute = await testCompute(t, {
    PODHOST_API_URL: sandbox.podhostUrl,
    CODEHOST_API_URL: sandbox.codeHostUrl,
    CODEHOST_RAW_URL: sandbox.codeHostRawUrl,
    APPS_PROXY_URL: sandbox.appsProxyUrl,
    ...more,
  })
  compute.secrets.set(1, world.keys.podhost)
  const as = compute.as(ci())

  /** The pods of org 1's account, as the host tells of them. */
  async function pods() {
    const headers = { authorization: `Bearer ${world.keys.podhost}` }
    const reply = await fetch(`${sandbox.podhostUrl}/pods`, { headers })
    return ((await reply.json()) as { pods: HostPod[] }).pods
  }
  const deployments = async () => {
    const reply = await as.call(listDeployments, { params })
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
    return reply.body.deployments
  }
  return {
    ...compute,
    sandboxWorld: world,
    ci: as,
    pods,
    deployments,
    states: async () => (await deployments()).map(({ tag, state }) => `${tag} ${state}`),
    async tag() {
      const reply = await as.call(getApp, { params })
      return reply.status === 200 ? reply.body.current_tag : reply.status
    },
    /** Registers SITE with changes under its name. */
    async register(changes: object = {}) {
      const reply = await as.call(putApp, { params, body: { manifest: { ...SITE, ...changes } } })
      if (reply.status > 201) throw new Error(JSON.stringify(reply.body))
      return reply
    },
    check: () => compute.run(checkDeployments),
    /** Once the one pod runs. */
    running: () => until(async () => (await pods())[0]?.status === 'RUNNING', 60_000),
  }
}

export type TestApps = Awaited<ReturnType<typeof testApps>>

interface HostPod {
  id: string
  image: string
  status: string
  env: Record<string, string>
  ports: string[]
}

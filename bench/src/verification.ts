import { connectBus } from '@guildhall/bus/connect'
import { refresh } from '@guildhall/contracts/auth'
import { getModules } from '@guildhall/contracts/orgs'
import type { Route } from '@guildhall/contracts/route'
import { whoami } from '@guildhall/contracts/tokens'
import { createAccessChecks } from '@guildhall/gateway/access-checks'
import { createAdmit } from '@guildhall/gateway/admit'
import { createDirectory } from '@guildhall/gateway/directory'
import { createPlatformTokens } from '@guildhall/gateway/platform-tokens'
import { watchRevocations } from '@guildhall/gateway/revocations'
import { createLog } from '@guildhall/service/log'
import { clientOf } from '@guildhall/test-e2e/people'
import { quantile } from './children.ts'

const TOKENS = 200
const REPEATS = 2_000

interface Stack {
  url: string
  settings: Record<string, string>
  pair: { refresh_token: string }
  machineToken: string
}

/**
 * What the door itself takes of a request, in milliseconds: the gateway's own `admit`, on a bus of its own
 * beside the running stack. `first` is a token that it never saw, `again` one that it knows.
 */
export async function measureVerification({ url, settings, pair, machineToken }: Stack) {
  const tokens = await manyTokens(url, pair.refresh_token)
  const log = createLog('bench', { format: 'json', level: 'fatal' })
  const { NATS_URL = '', INTERNAL_KEY: internalKey = '' } = settings
  await using bus = await connectBus({ peer: 'gateway', url: NATS_URL, internalKey, log })
  const ending = new AbortController()
  const directory = createDirectory(bus)
  const revocations = watchRevocations(bus, ending.signal)
  const admit = createAdmit({
    directory,
    platformTokens: createPlatformTokens(bus, revocations, ending.signal),
    accessChecks: createAccessChecks({ directory, enforce: true, log }),
  })
  while (!revocations.hears()) await new Promise((resolve) => setTimeout(resolve, 10))
  const time = async (route: Route, org: number | undefined, token: string) => {
    const began = performance.now()
    await admit({ route, org, authorization: `Bearer ${token}`, verified: async () => {} })
    return performance.now() - began
  }
  const officer = (token: string) => time(getModules, 1, token)
  const [warming = '', ...rest] = tokens
  await officer(warming)
  const first = []
  for (const token of rest) first.push(await officer(token))
  const again = []
  for (let i = 0; i < REPEATS; i++) again.push(await officer(warming))
  await time(whoami, undefined, machineToken)
  const machine = []
  for (let i = 0; i < REPEATS; i++) machine.push(await time(whoami, undefined, machineToken))
  ending.abort()
  return {
    first: quantile(first, 0.5),
    again: quantile(again, 0.5),
    machine: quantile(machine, 0.5),
  }
}

/** Access tokens of one officer, each from the refresh of the one before. */
async function manyTokens(url: string, refresh_token: string) {
  const tokens: string[] = []
  let current = refresh_token
  for (let i = 0; i < TOKENS; i++) {
    const reply = await clientOf(url).call(refresh, { body: { refresh_token: current } })
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
    tokens.push(reply.body.access_token)
    current = reply.body.refresh_token
  }
  return tokens
}

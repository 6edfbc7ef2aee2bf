import { ask } from '@guildhall/bus/calls'
import { type Service, services } from '@guildhall/contracts/names'
import { getHealth, readinessOf } from '@guildhall/contracts/ops'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { missingParts } from '@guildhall/service/probes'
import type { Deps } from '../deps.ts'

export function healthRoutes(app: App, deps: Deps) {
  app.implement(getHealth, async () => {
    const found = await Promise.all(services.map((service) => healthOf(deps, service)))
    const ok = found.every(({ status }) => status === 'ready')
    return { status: ok ? 'ok' : 'degraded', services: found }
  })
}

async function healthOf({ bus, log, ready }: Deps, service: Service) {
  try {
    const missing =
      service === 'ops'
        ? await missingParts(ready)
        : (await ask(bus, readinessOf(service), {})).missing
    const status = missing.length === 0 ? ('ready' as const) : ('waiting' as const)
    return { service, status, missing }
  } catch (error) {
    if (error instanceof AppError)
      return { service, status: 'silent' as const, missing: [error.message] }
    // of another revision, as in a deployment that is under way, it may answer what is no answer here
    const said = `${service} answers in another way`
    log.error({ err: error, asked: service }, said)
    return { service, status: 'silent' as const, missing: [said] }
  }
}

import { search } from '@guildhall/contracts/knowledge'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { findPassages } from './find.ts'

export function searchRoutes(app: App, deps: Deps) {
  app.implement(search, ({ org, body }) => findPassages(deps, org, body))
}

import { search } from '@guildhall/contracts/knowledge'
import { searchAsOfficer } from '@guildhall/contracts/knowledge-dashboard'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { findPassages } from './find.ts'

export function searchRoutes(app: App, deps: Deps) {
  app.implement(search, ({ org, body }) => findPassages(deps, org, body))
  app.implement(searchAsOfficer, ({ org, body }) => findPassages(deps, org, body))
}

import { audit, enqueue } from '@guildhall/bus/outbox'
import { ciReposSet, getCi, putCiRepos } from '@guildhall/contracts/ci'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { ciRepos, saveCiRepos } from './queries.ts'

export function ciRoutes(app: App, { db, ci }: Deps) {
  app.implement(getCi, async ({ org }) => {
    const repos = await ciRepos(db, org.id)
    return { repos: await Promise.all(repos.map((repo) => ci.of(org.id, repo))) }
  })

  app.implement(putCiRepos, async ({ org, caller, body: { repos } }) => {
    await db.transaction().execute(async (trx) => {
      await saveCiRepos(trx, org.id, repos)
      await enqueue(trx, audit(ciReposSet, caller, org, { repos }))
    })
    return { repos }
  })
}

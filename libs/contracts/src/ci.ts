import { z } from 'zod'
import { officer } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgParams } from './fields.ts'
import { route } from './route.ts'

/** The latest CI runs of an org's repositories at the code host (decisions.md § 8). */

/** interface.md, Limits. */
export const MOST_CI_REPOS = 20
export const CI_KEPT_SECONDS = 120

const CiRepo = z
  .string()
  .max(140)
  .regex(/^[A-Za-z0-9-]{1,39}\/(?!\.{1,2}$)[\w.-]{1,100}$/, 'must be owner/name')

const CiRun = z.object({
  workflow: z.string(),
  branch: z.string().nullable(),
  event: z.string(),
  status: z.string(),
  conclusion: z.string().nullable().describe('null until the run is over'),
  title: z.string(),
  url: z.string(),
  started_at: Instant,
})
export type CiRun = z.output<typeof CiRun>

export const RepoCi = z
  .object({
    repo: z.string(),
    runs: z.array(CiRun),
    error: z.string().nullable().describe('Why there are no runs, and what to do'),
  })
  .meta({ id: 'RepoCi' })
export type RepoCi = z.output<typeof RepoCi>

export const getCi = route({
  method: 'GET',
  url: '/api/dashboard/:org/ci',
  summary: 'The latest CI runs of each listed repository, at most 120 seconds old',
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  reply: { 200: z.object({ repos: z.array(RepoCi) }) },
})

export const putCiRepos = route({
  method: 'PUT',
  url: '/api/dashboard/:org/ci/repos',
  summary: 'Set the repositories whose CI runs are shown',
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  body: z.object({
    repos: z
      .array(CiRepo)
      .max(MOST_CI_REPOS)
      .refine(
        (repos) => new Set(repos.map((repo) => repo.toLowerCase())).size === repos.length,
        'names a repository twice',
      ),
  }),
  reply: { 200: z.object({ repos: z.array(z.string()) }) },
})

export const ciReposSet = audited('ops.ci_repos.set', z.object({ repos: z.array(z.string()) }))

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Repo, World } from '../world.ts'

type Named = { Params: { owner: string; name: string; '*': string } }

/** Repositories of the code host (GitHub REST), as far as a file is read: by the API, and raw where public. */
export function repoRoutes(app: FastifyInstance, { world }: { world: World }) {
  const api = '/code-host/repos/:owner/:name'

  /** The repository, if the credential sees it; nothing once the request is refused. */
  function seen(req: FastifyRequest<Named>, reply: FastifyReply) {
    const { authorization } = req.headers
    const known = authorization === `Bearer ${world.keys.codeHost}`
    if (authorization && !known) {
      refuse(reply, 401, 'Bad credentials')
      return undefined
    }
    const repo = named(req)
    if (repo && (known || !repo.private)) return repo
    refuse(reply, 404, 'Not Found')
    return undefined
  }
  const named = ({ params: { owner, name } }: FastifyRequest<Named>) =>
    world.repos.find((repo) => repo.name === `${owner}/${name}`)

  app.get<Named>(api, (req, reply) => {
    const repo = seen(req, reply)
    if (!repo) return reply
    const { name, private: hidden, default_branch } = repo
    return reply.send({ full_name: name, private: hidden, default_branch })
  })
  app.get<Named>(`${api}/commits/*`, (req, reply) => {
    const repo = seen(req, reply)
    if (!repo) return reply
    const ref = req.params['*']
    const sha = repo.refs[ref] ?? (repo.files[ref] && ref)
    if (!sha) return refuse(reply, 422, `No commit found for SHA: ${ref}`)
    return reply.type('application/vnd.github.sha; charset=utf-8').send(sha)
  })
  app.get<Named>(`${api}/actions/runs`, (req, reply) => {
    const repo = seen(req, reply)
    if (!repo) return reply
    repo.runsAsked = (repo.runsAsked ?? 0) + 1
    const workflow_runs = repo.runs ?? []
    return reply.send({ total_count: workflow_runs.length, workflow_runs })
  })
  app.get<Named & { Querystring: { ref?: string } }>(`${api}/contents/*`, (req, reply) => {
    const repo = seen(req, reply)
    if (!repo) return reply
    const text = repo.files[req.query.ref ?? '']?.[req.params['*']]
    if (text === undefined) return refuse(reply, 404, 'Not Found')
    return reply.type('application/vnd.github.raw+json; charset=utf-8').send(text)
  })
  app.get<Named>('/code-host-raw/:owner/:name/*', (req, reply) => {
    const repo = named(req)
    const text = repo?.private ? undefined : repo && fileAt(repo, req.params['*'])
    if (text === undefined) return reply.code(404).type('text/plain').send('404: Not Found')
    return reply.type('text/plain; charset=utf-8').send(text)
  })
}

/** A file by `<commit, branch or tag>/<path>`; names of branches may hold slashes. */
function fileAt({ refs, files }: Repo, place: string): string | undefined {
  const parts = place.split('/')
  for (let n = 1; n < parts.length; n++) {
    const ref = parts.slice(0, n).join('/')
    const text = files[refs[ref] ?? ref]?.[parts.slice(n).join('/')]
    if (text !== undefined) return text
  }
  return undefined
}

const refuse = (reply: FastifyReply, status: number, message: string) =>
  reply.code(status).send({ message, status: String(status) })

import type { FastifyInstance } from 'fastify'
import type { World } from '../world.ts'

/** Status and body of an answer. */
type Answer = readonly [status: number, body: object]

interface Account {
  path: string
  /** To the right key. */
  accepted: Answer
  /** To any other. */
  refused: Answer
}

/** The one question to each service that shows whether a key works. */
const ACCOUNTS: Record<'codeHost' | 'notes', Account> = {
  codeHost: {
    path: '/code-host/user',
    accepted: [200, { login: 'demo-club', id: 1, type: 'User' }],
    refused: [401, { message: 'Bad credentials', status: '401' }],
  },
  notes: {
    path: '/notes/v1/users/me',
    accepted: [200, { object: 'user', id: 'demo', type: 'bot', name: 'Demo Club' }],
    refused: [401, { object: 'error', status: 401, code: 'unauthorized' }],
  },
}

/** The code host and the notes service, as far as a key can be tried there. */
export function accountRoutes(app: FastifyInstance, { world }: { world: World }) {
  for (const [name, { path, accepted, refused }] of Object.entries(ACCOUNTS)) {
    app.get(path, (req, reply) => {
      const key = world.keys[name as keyof World['keys']]
      const [status, body] = req.headers.authorization === `Bearer ${key}` ? accepted : refused
      return reply.code(status).send(body)
    })
  }
}

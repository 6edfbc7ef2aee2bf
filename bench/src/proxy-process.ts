import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'

/** A bare @fastify/http-proxy, to compare the gateway with. */
const app = Fastify()
await app.register(proxy, { upstream: process.argv[2] ?? '', undici: { connections: 128 } })
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }))
process.on('message', () => process.exit(0))

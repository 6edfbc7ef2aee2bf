import { connect, Socket } from 'node:net'
import { pipeline } from 'node:stream'

/** Runs in the network of a pod: joins each connection that it is handed to this port of the pod's loopback. */
const port = Number(process.argv[2])

process.on('message', (_message, outer) => {
  if (!(outer instanceof Socket)) return // its client was gone before it came
  const inner = connect(port, '127.0.0.1')
  for (const socket of [outer, inner]) socket.setNoDelay(true)
  pipeline(outer, inner, outer, () => {}) // an end or a fault of one is the end of both
})
process.on('disconnect', () => process.exit())

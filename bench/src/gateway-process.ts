import { readConfig } from '@guildhall/gateway/config'
import { start } from '@guildhall/gateway/main'

/** A gateway in a process of its own, before the services of the stack that its environment names. */
const gateway = await start(readConfig())
process.send?.(gateway.url)
process.on('message', async () => {
  await gateway[Symbol.asyncDispose]()
  process.exit(0)
})

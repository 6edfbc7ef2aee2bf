import { readConfig } from '@guildhall/store/config'
import { start } from '@guildhall/store/main'

/** The store in a process of its own, on the servers that its environment names. */
const store = await start(readConfig())
process.send?.(store.url)
process.on('message', async () => {
  await store[Symbol.asyncDispose]()
  process.exit(0)
})

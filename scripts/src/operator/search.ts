import { ask } from '@guildhall/bus/calls'
import { findRebuild, rebuildSearchIndex } from '@guildhall/contracts/knowledge'
import type { Env } from '@guildhall/service/config'
import { type Said, withBus } from './context.ts'
import { runToEnd } from './jobs.ts'

/** Makes the search index again and says on stderr how far it is. One that is under way is joined. */
export async function searchRebuild(env: Env): Promise<Said> {
  const run = await withBus(env, (bus) => {
    let said = ''
    const sayProgress = async () => {
      const { rebuild } = await ask(bus, findRebuild, {})
      if (!rebuild) return
      const line = `${rebuild.sources - rebuild.left} of ${rebuild.sources} sources`
      if (line !== said) process.stderr.write(`${line}\n`)
      said = line
    }
    return runToEnd(bus, rebuildSearchIndex, {}, sayProgress)
  })
  return { text: 'The search index was made again; searches use the new one', json: run }
}

import type { World } from '../world.ts'
import type { Grants } from './grants.ts'

/** What every part of the emulated chat platform needs. */
export interface ChatDeps {
  world: World
  grants: Grants
}

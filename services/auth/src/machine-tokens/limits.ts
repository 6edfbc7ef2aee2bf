import { answer } from '@guildhall/bus/calls'
import { findTokenLimits } from '@guildhall/contracts/tokens'
import { findToolAccess } from '@guildhall/contracts/tool'
import type { Deps } from '../deps.ts'
import { connectedOf } from '../integrations/state.ts'
import { secretNames } from '../secrets/queries.ts'
import { tokenById } from './queries.ts'

/** What machine tokens may touch of connected services. */
export function answerLimitCalls({ bus, db, config, now }: Deps) {
  answer(bus, findTokenLimits, async ({ org_id, id }) => ({
    limits: (await tokenById(db, org_id, id, now()))?.limits ?? null,
  }))
  answer(bus, findToolAccess, async ({ org_id, token_id }) => {
    const [token, set] = await Promise.all([
      tokenById(db, org_id, token_id, now()),
      secretNames(db, org_id),
    ])
    return { connected: connectedOf(set, config), limits: token?.limits ?? null }
  })
}

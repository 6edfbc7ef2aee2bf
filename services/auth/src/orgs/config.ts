import { ask } from '@guildhall/bus/calls'
import { findKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'

/** What the modules keep for an org, as they say it now. One that does not answer is left out. */
export async function configOf({ bus, log }: Deps, orgId: number) {
  try {
    const { own } = await ask(bus, findKnowledgeSettings, { org_id: orgId })
    return { knowledge: own }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error }, 'The settings of knowledge are left out')
    return {}
  }
}

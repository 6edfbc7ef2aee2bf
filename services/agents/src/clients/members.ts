import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { findMembership } from '@guildhall/contracts/members'
import { AppError } from '@guildhall/service/errors'
import type { Owner } from '../db.ts'

/**
 * Who the member is on the org's chat server, by what the chat platform says and not the agent. Throws 403
 * `member.not_in_server`, and 503 where the chat platform does not tell. auth keeps its answers.
 */
export async function memberOf(bus: Bus, owner: Owner) {
  const { member, officer, name, roles } = await ask(bus, findMembership, owner)
  if (!member) throw notInServer()
  return { display_name: name ?? '', role_ids: roles, is_officer: officer }
}

const notInServer = () =>
  new AppError(
    'forbidden',
    'member.not_in_server',
    "The member is not on the org's chat server; agents serve its members only",
  )

import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  addMemory,
  deleteMemberData,
  deleteMemory,
  listMemories,
  memberDataDeleted,
  memoryDeleted,
} from '@guildhall/contracts/agent-memories'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { lockOwner, ownerOf } from '../owner.ts'
import { deleteData, deleteOne, insertMemories, memoriesOf } from './queries.ts'
import { memoryRow, shownMemory } from './seal.ts'

export function memoryRoutes(app: App, deps: Deps) {
  const { db, sealer, now } = deps

  app.implement(listMemories, async ({ org, params, query: { kinds, limit } }) => {
    const owner = ownerOf(org, params.chat_user_id)
    return { memories: await memoriesOf(deps, owner, { kinds, limit, now: now() }) }
  })

  app.implement(addMemory, async ({ org, params, body }, reply) => {
    const owner = ownerOf(org, params.chat_user_id)
    const row = memoryRow(sealer, owner, body, now())
    await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      await insertMemories(trx, owner, [row])
    })
    const memory = shownMemory(sealer, row)
    if (!memory) throw new Error('A memory that was just sealed does not open')
    return reply.code(201).send(memory)
  })

  app.implement(deleteMemory, async ({ org, params: { chat_user_id, memory_id }, caller }) => {
    await db.transaction().execute(async (trx) => {
      if (!(await deleteOne(trx, ownerOf(org, chat_user_id), memory_id))) throw noMemory()
      await enqueue(trx, audit(memoryDeleted, caller, org, { chat_user_id, memory_id }))
    })
    return { deleted: true }
  })

  app.implement(deleteMemberData, async ({ org, params: { chat_user_id }, caller }) => {
    const owner = ownerOf(org, chat_user_id)
    const deleted = await db.transaction().execute(async (trx) => {
      await lockOwner(trx, owner)
      const rows = await deleteData(trx, owner)
      await enqueue(trx, audit(memberDataDeleted, caller, org, { chat_user_id, rows }))
      return rows
    })
    return { deleted }
  })
}

export const noMemory = () =>
  new AppError('not_found', 'memory.not_found', 'The member has no such memory')

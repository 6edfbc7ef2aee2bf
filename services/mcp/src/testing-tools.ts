import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { AuditEvent } from '@guildhall/contracts/event'
import { listTools, useTool } from '@guildhall/contracts/mcp'
import { callOf, type ToolArgs } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import type { Env } from '@guildhall/service/config'
import { cleanUp, until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { agentWith, testMcp } from './testing.ts'

/** mcp, asked over plain HTTP with a token of these scopes; `answerAs` is the service that owns a tool. */
export async function testTools(t: TestContext, scopes: string[], more: Env = {}) {
  const mcp = await testMcp(t, more)
  const agent = mcp.as(agentWith(...scopes))
  const use = (name: string, body: Record<string, unknown> = {}) =>
    agent.call(useTool, { params: { name }, body })
  const names = async () => {
    const reply = await agent.call(listTools, {})
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.tools.map(({ name }) => name)
  }
  const written = async () => {
    const rows = await mcp.db.selectFrom('outbox').select('payload').orderBy('id').execute()
    return rows.map(({ payload }) => AuditEvent.parse(payload))
  }
  const lines = async () => (await written()).map(({ details }) => details)
  const statuses = async () => (await written()).map(({ status }) => status)
  async function answerAs(name: string, handle: (args: ToolArgs) => Promise<unknown>) {
    const tool = tools.find((one) => one.name === name) ?? assert.fail(name)
    const owner = await busAs(t, { url: mcp.settings.NATS_URL, peer: tool.route.owner })
    answer(owner, callOf(tool), async (args) => ({ answer: await handle(args) }))
    await owner.nats.flush()
  }
  async function lockOutbox() {
    const lock = await lockedOutbox(mcp.db)
    cleanUp(t, lock.letGo)
    return lock
  }
  return { ...mcp, use, names, lines, statuses, answerAs, lockOutbox }
}

/** Keeps lines from being written until it is let go; `waits` resolves once somebody would write one. */
async function lockedOutbox(db: Awaited<ReturnType<typeof testMcp>>['db']) {
  const locked = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const done = db.transaction().execute(async (trx) => {
    await sql`lock table outbox in exclusive mode`.execute(trx)
    locked.resolve()
    await end.promise
  })
  await locked.promise
  const waits = () =>
    until(async () => {
      const { rows } = await sql`
        select 1 from pg_stat_activity
        where wait_event_type = 'Lock' and query ilike 'insert into "outbox"%'`.execute(db)
      return rows.length > 0
    })
  async function letGo() {
    end.resolve()
    await done
  }
  return { waits, letGo }
}

export const codeOf = (body: object) => ('code' in body ? body.code : undefined)

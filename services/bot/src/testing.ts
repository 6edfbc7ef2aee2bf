import type { TestContext } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs, testSettings } from '@guildhall/bus/testing'
import { askedBy, botCommands, type CommandName, findOrgOfServer } from '@guildhall/contracts/bot'
import { moduleNames } from '@guildhall/contracts/names'
import { people, servers } from '@guildhall/sandbox/demo'
import { testSandbox } from '@guildhall/sandbox/testing'
import type { Env } from '@guildhall/service/config'
import { cleanUp, until } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations } from './db.ts'
import { start } from './main.ts'

type Test = Pick<TestContext, 'after'>

/**
 * The bot on its own database and broker, connected to the sandbox's chat gateway. What the others would answer, tests
 * answer as them, over NATS.
 */
export async function testBot(t: Test, more: Env = {}) {
  const [common, sandbox] = await Promise.all([
    testSettings(t, { bot: migrations }),
    testSandbox(t),
  ])
  const { world, chatApiUrl, chatGateway } = sandbox
  const settings = {
    ...common,
    BOT_TOKEN: world.application.botToken,
    CHAT_API_URL: chatApiUrl,
    ...more,
  }
  const url = settings.NATS_URL
  const auth = await busAs(t, { url, peer: 'auth' })
  const org = { id: 1, prefix: 'demo', name: 'Demo *Club*', modules: [...moduleNames] as string[] }
  answer(auth, findOrgOfServer, async ({ chat_server_id: id }) => ({
    org: id === servers.demo.id ? { ...org, publisher: false } : null,
  }))
  await auth.nats.flush()
  async function answerAs(name: CommandName, handle: (args: object) => Promise<unknown>) {
    const command = botCommands[name]
    const owner = await busAs(t, { url, peer: command.route.owner })
    answer(owner, askedBy(command), async (args) => ({ answer: await handle(args) }))
    await owner.nats.flush()
  }
  const open = async (env: Env = {}) => {
    const bot = await start(readConfig({ ...settings, ...env }))
    cleanUp(t, () => bot[Symbol.asyncDispose]())
    return bot
  }
  const bot = await open()
  const type = (name: string, options: Record<string, string> = {}, guildId = servers.demo.id) =>
    sandbox.typeCommand({ guildId, userId: people.member.id, name, options }).answered
  const connected = () =>
    until(() => chatGateway.connected() === 1 && world.application.commands !== undefined)
  return { bot, open, sandbox, world, settings, org, answerAs, type, connected }
}

/** What `/ready` says is missing. */
export async function missingAt(url: string): Promise<string[]> {
  const { missing } = (await (await fetch(`${url}/ready`)).json()) as { missing: string[] }
  return missing
}

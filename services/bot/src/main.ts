import { openService } from '@guildhall/bus/open-service'
import { onlyOne } from '@guildhall/db/only-one'
import { type Running, runProcess } from '@guildhall/service/run'
import { buildApp } from './app.ts'
import { answerCalls } from './calls.ts'
import { createChat } from './chat/chat.ts'
import { createAnswer } from './commands/answer.ts'
import { type Config, readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { jobHandlers } from './jobs.ts'

const NO_TOKEN =
  'BOT_TOKEN is not set: the chat bot answers nobody and posts nothing. docs/operators has how to make one.'
const ONE_BOT = {
  schema: 'bot',
  name: 'bot',
  waiting:
    'Another process of this database is the chat bot, and there is one: stop that process. This one waits.',
  taken: 'Another process became the chat bot while Postgres was away',
}

/** Starts the chat bot: commands of members, and posts. Waits while another process is the bot. */
export async function start(config: Config): Promise<Running> {
  const { BOT_PORT: PORT, BOT_DATABASE_URL: OWN_DATABASE_URL, BOT_TOKEN: token } = config
  const common = { ...config, PORT, OWN_DATABASE_URL }
  await using opened = await openService<Tables>('bot', common, migrations)
  const { db, bus, log, signal, ready, databaseUrl: url } = opened
  const chat = createChat({ token, api: config.CHAT_API_URL, log, answer: createAnswer(bus, log) })
  const app = buildApp(opened)
  const deps = { db, bus, log, chat }
  if (token === undefined) {
    log.warn(NO_TOKEN)
    answerCalls(deps)
    return await opened.serve(app, jobHandlers({ db }))
  }
  // two would both answer each command
  const lock = await onlyOne({ ...ONE_BOT, url, log })
  opened.onClose(() => lock[Symbol.asyncDispose]())
  answerCalls(deps)
  ready.chat = async () => chat.missing()
  return await opened.serve(app, jobHandlers({ db }), [lock.keep(signal), chat.run(signal)])
}

if (import.meta.main) await runProcess('bot', () => start(readConfig()))

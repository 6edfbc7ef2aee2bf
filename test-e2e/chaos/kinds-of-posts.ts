import { ask } from '@guildhall/bus/calls'
import { getEventPost, postDueEvents } from '@guildhall/contracts/event-posts'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { type Day, ORGS, openDays, operatorBus, switchCalendar } from './days.ts'
import type { Hands } from './hands.ts'
import { answered, type Kind } from './kind.ts'

const RUN_WITHIN_MS = 60_000
/** In hand, or over: a claim whose process was killed is free after two minutes, which calendar's own tests show. */
const TAKEN_UP = ['claimed', 'posting', 'posted', 'uncertain']

/** What the bot posts of its own accord: the events of a day, each day once. */
export const kindsOfPosts = async (hands: Hands): Promise<Kind[]> => [
  posts(hands, await openDays(hands)),
]

function posts(hands: Hands, days: Day[]): Kind {
  const opened = new Set<Day>()
  const last = async ({ org_id }: Day) =>
    (await answered(hands.superadmin().call(getEventPost, { params: { org_id } }))).last?.state
  const isTakenUp = async (day: Day) => TAKEN_UP.includes((await last(day)) ?? '')
  return {
    name: 'posts of a day',
    most: ORGS,
    restMs: 3_000,
    async write(n) {
      const day = days[n % days.length] as Day
      if (!(await switchCalendar(hands, day.org_id, true))) return undefined
      opened.add(day)
      await startPosts(hands).catch(onlyAway)
      return day.prefix
    },
    async held() {
      await until(async () => {
        await runPosts(hands)
        return (await Promise.all([...opened].map(isTakenUp))).every(Boolean)
      }, RUN_WITHIN_MS).catch(() => {}) // the others are missed by name
      const there = await Promise.all(
        [...opened].map(async (day) => ((await isTakenUp(day)) ? [day.prefix] : [])),
      )
      return there.flat()
    },
    async faults() {
      const wrong = [...opened].map(async (day) => {
        const state = await last(day)
        const count = day.messages.length
        const isRight = state === 'posted' ? count === 1 : count <= 1
        return isRight ? [] : [`the day of ${day.prefix} is ${state}, with ${count} messages`]
      })
      return (await Promise.all(wrong)).flat()
    },
  }
}

/** Has what is due posted now; answers the id of the run. */
async function startPosts(hands: Hands): Promise<string> {
  await using bus = await operatorBus(hands)
  const id = newId()
  await ask(bus, startJob('calendar'), { id, job: postDueEvents.name, args: {} })
  return id
}

async function runPosts(hands: Hands) {
  const id = await startPosts(hands)
  await using bus = await operatorBus(hands)
  await until(
    async () => (await ask(bus, findJobRun('calendar'), { id })).run?.finished_at,
    RUN_WITHIN_MS,
  )
}

function onlyAway(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error
}

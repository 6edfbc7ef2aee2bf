import { listMemories } from '@guildhall/contracts/agent-memories'
import { listFeeds } from '@guildhall/contracts/alerts'
import { listCalendarRuns } from '@guildhall/contracts/calendar'
import { listPods } from '@guildhall/contracts/compute'
import { listSources } from '@guildhall/contracts/knowledge'
import { listTools } from '@guildhall/contracts/mcp'
import { listOrgAudit } from '@guildhall/contracts/ops'
import { getOrg } from '@guildhall/contracts/orgs'
import { getLeaderboard } from '@guildhall/contracts/points'
import { people } from '@guildhall/sandbox/demo'
import { type Hands, org } from './hands.ts'
import { answered } from './kind.ts'

const ROUNDS = 5

/** A question to every service. */
const questions = ({ officer, agent, org_id }: Hands) => [
  () => answered(officer().call(getOrg, { params: { org_id } })),
  () => answered(agent().call(listSources, { query: { limit: '10' } })),
  () => answered(officer().call(listOrgAudit, { params: { org_id }, query: { limit: '10' } })),
  () => answered(officer().call(listPods, { params: org, query: {} })),
  () =>
    answered(agent().call(listMemories, { params: { chat_user_id: people.member.id }, query: {} })),
  () => answered(agent().call(listTools, {})),
  () => answered(officer().call(getLeaderboard, { params: org, query: {} })),
  () => answered(officer().call(listCalendarRuns, { params: org, query: { limit: '10' } })),
  () => answered(officer().call(listFeeds, { params: org })),
]

/** The median time of an answer in milliseconds, each service asked a few times. */
export async function usualAnswerMs(hands: Hands): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const question of questions(hands)) {
      const began = performance.now()
      await question()
      times.push(performance.now() - began)
    }
  }
  return Math.round(times.sort((a, b) => a - b)[times.length >> 1] ?? 0)
}

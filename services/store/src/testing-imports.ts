import assert from 'node:assert/strict'
import { getImport, uploadEventCsv } from '@guildhall/contracts/point-imports'
import { until } from '@guildhall/service/testing'
import { at, officer, type TestStore } from './testing.ts'

/** Sends an attendance file of five points, and answers what became of it, or its refusal. */
export async function imported(
  { as }: Pick<TestStore, 'as'>,
  content: string | Uint8Array<ArrayBuffer>,
  { event = 'Kickoff', org = 1 } = {},
) {
  const file = [new File([content], 'attendance.csv')]
  const body = { file, event_name: event, event_points: '5' }
  const sent = await as(officer(org)).call(uploadEventCsv, { ...at(org), body })
  if (sent.status !== 202) return sent.body
  const params = { org: `org${org}`, job_id: sent.body.job_id }
  return until(async () => {
    const reply = await as(officer(org)).call(getImport, { params })
    assert.ok(reply.status === 200)
    return reply.body.state !== 'queued' && reply.body
  }, 30_000)
}

import {
  deleteFeed,
  getFeedHistory,
  listFeeds,
  putFeed,
  runFeedNow,
} from '@guildhall/contracts/alerts'
import { createPod, getPod, listPods } from '@guildhall/contracts/compute'
import {
  listPodSessions,
  planPodSession,
  removePodSession,
} from '@guildhall/contracts/pod-sessions'
import { until } from '@guildhall/service/testing'
import { type Hands, org } from './hands.ts'
import { acknowledged, answered, everyPage, type Kind } from './kind.ts'

const HOUR_MS = 3_600_000
const RUNS_WITHIN_MS = 60_000
const MOST_PODS = 4

/** Feeds and pods, with what goes on at the outside services. */
export async function kindsOfAlertsAndCompute(hands: Hands, run: string): Promise<Kind[]> {
  const { officer } = hands
  const made = await answered(officer().call(createPod, { params: org, body: { name: 'calm' } }))
  const pod_id = made.pod.id
  await until(async () => {
    const { pod } = await answered(officer().call(getPod, { params: { ...org, pod_id } }))
    return pod.status === 'RUNNING'
  }, RUNS_WITHIN_MS)
  return [feeds(hands), feedRuns(hands), sessions(hands, pod_id), pods(hands, run)]
}

function feeds({ officer, sandbox }: Hands): Kind {
  const [hook] = sandbox.world.webhooks ?? []
  const webhook_url = `${sandbox.chatWebhooksUrl}/${hook?.id}/${hook?.token}`
  return {
    name: 'alert feeds',
    audit: { action: 'alerts.feed.created', by: 'key' },
    most: 20,
    async write(n) {
      const body = { kind: 'hackathons' as const, webhook_url, enabled: false }
      const put = officer().call(putFeed, { params: { ...org, key: `chaos-${n}` }, body })
      return (await acknowledged(put))?.feed.key
    },
    async remove(key) {
      const gone = officer().call(deleteFeed, { params: { ...org, key } })
      return (await acknowledged(gone)) !== undefined
    },
    async held() {
      const { feeds: all } = await answered(officer().call(listFeeds, { params: org }))
      return all.map(({ key }) => key)
    },
  }
}

/** Each is a job; that all of them end is seen at the jobs. */
function feedRuns({ officer }: Hands): Kind {
  const params = { ...org, key: 'demo-internships' }
  const queued: string[] = []
  return {
    name: 'feed runs (jobs)',
    restMs: 1_000,
    async write(n) {
      const run = await acknowledged(officer().call(runFeedNow, { params, body: {} }))
      if (run) queued.push(`run-${n}`)
      return run && `run-${n}`
    },
    /** Only the last runs are kept, so the newest speaks for all. */
    async held() {
      const { runs } = await answered(officer().call(getFeedHistory, { params }))
      return runs[0]?.error === null ? queued : []
    },
  }
}

function sessions({ officer }: Hands, pod_id: string): Kind {
  const params = { ...org, pod_id }
  const at = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()
  return {
    name: 'pod sessions',
    audit: { action: 'compute.session.planned', by: 'session_id' },
    most: 40,
    async write(n) {
      const body = { title: `chaos ${n}`, start_at: at(20), stop_at: at(22) }
      return (await acknowledged(officer().call(planPodSession, { params, body })))?.session.id
    },
    async remove(session_id) {
      const gone = officer().call(removePodSession, { params: { ...params, session_id } })
      return (await acknowledged(gone)) !== undefined
    },
    async held() {
      const all = await everyPage(async (cursor) => {
        const query = { limit: '500', cursor }
        const body = await answered(officer().call(listPodSessions, { params, query }))
        return { ...body, items: body.sessions }
      })
      return all.map(({ id }) => id)
    },
  }
}

function pods({ officer, sandbox }: Hands, run: string): Kind {
  const all = async () => {
    const sent = { params: org, query: { limit: '500' } }
    return (await answered(officer().call(listPods, sent))).pods
  }
  return {
    name: 'pods',
    once: true,
    audit: { action: 'compute.pod.created', by: 'pod_id' },
    most: MOST_PODS,
    restMs: 5_000,
    async write(n) {
      const keyed = officer({ 'idempotency-key': `${run}-pod-${n}` })
      const made = keyed.call(createPod, { params: org, body: { name: `storm ${n}` } })
      return (await acknowledged(made))?.pod.id
    },
    held: async () =>
      (await all()).filter(({ name }) => name.startsWith('storm')).map(({ id }) => id),
    /** A pod that the host has and we do not know of costs money unseen. */
    async faults() {
      const headers = { authorization: `Bearer ${sandbox.world.keys.podhost}` }
      const answer = await fetch(`${sandbox.podhostUrl}/pods`, { headers })
      const { pods: there } = (await answer.json()) as { pods: { id: string }[] }
      const known = new Set((await all()).map(({ id }) => id))
      return there.filter(({ id }) => !known.has(id)).map(({ id }) => `pod ${id} is nobody's`)
    },
  }
}

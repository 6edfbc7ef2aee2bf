import { pathOf } from '@guildhall/contracts/client'
import { connectToPod } from '@guildhall/contracts/connect'
import autocannon from 'autocannon'
import { PUBLIC_KEY } from './compute-transfer.ts'

const SECONDS = 10
const CONNECTIONS = 16

/** Certificates through the gateway: each is checked, numbered, audited and committed. */
export async function measureCertificates({
  url,
  token,
  pod,
}: {
  url: string
  token: string
  pod: string
}) {
  const path = pathOf(connectToPod, { params: { org: 'demo', pod_id: pod } })
  const request = {
    url: url + path,
    method: 'POST' as const,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ public_key: PUBLIC_KEY }),
    connections: CONNECTIONS,
  }
  await autocannon({ ...request, duration: 2 }) // warms up
  const { requests, latency, non2xx, errors } = await autocannon({ ...request, duration: SECONDS })
  if (non2xx + errors > 0) throw new Error(`${non2xx} certificates refused, ${errors} errors`)
  return { perSecond: Math.round(requests.average), p50: latency.p50, p99: latency.p99 }
}

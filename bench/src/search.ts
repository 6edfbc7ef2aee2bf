import type { createClient } from '@guildhall/contracts/client'
import { search, uploadDocuments } from '@guildhall/contracts/knowledge'
import { demoDocuments } from '@guildhall/test-e2e/documents'
import { quantile } from './children.ts'

type Client = ReturnType<typeof createClient>

interface Measured {
  officer: Client
  agent: Client
  /** The demo embedding model's address. */
  embeddingsUrl: string
}

/**
 * Each question of the demo corpus once, one after the other, never asked before: milliseconds through the
 * gateway. And how long the demo model alone takes for as many others.
 */
export async function measureSearch({ officer, agent, embeddingsUrl }: Measured) {
  const { files, questions } = await demoDocuments()
  const uploaded = await officer.call(uploadDocuments, {
    params: { org: 'demo' },
    body: { files, folder: 'library' },
  })
  if (uploaded.status !== 200) throw new Error(JSON.stringify(uploaded.body))
  const [warming, ...measured] = questions
  const ask = async (query: string) => {
    const began = performance.now()
    const reply = await agent.call(search, { body: { query } })
    if (reply.status !== 200 || !reply.body.dense) throw new Error(JSON.stringify(reply.body))
    return performance.now() - began
  }
  for (let i = 0; i < 20; i++) await ask(`${warming?.question} ${i}`)
  const first = []
  for (const { question } of measured) first.push(await ask(question))
  const again = []
  for (const { question } of measured) again.push(await ask(question))
  const alone = []
  for (const { question } of measured) alone.push(await embed(embeddingsUrl, `So, ${question}`))
  const passages = uploaded.body.files.reduce((sum, file) => sum + file.chunks, 0)
  return {
    passages,
    p50: quantile(first, 0.5),
    p99: quantile(first, 0.99),
    repeated: quantile(again, 0.5),
    model: quantile(alone, 0.5),
  }
}

async function embed(url: string, input: string) {
  const began = performance.now()
  const reply = await fetch(`${url}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', input }),
  })
  await reply.json()
  if (!reply.ok) throw new Error(`The demo model answered ${reply.status}`)
  return performance.now() - began
}

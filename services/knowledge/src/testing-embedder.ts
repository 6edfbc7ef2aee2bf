import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'

interface Asked {
  authorization: string | undefined
  model: string
  input: string[]
}

interface World {
  asked: Asked[]
  broken: { status: number; body: string } | undefined
  /** A text that it does not take. */
  refused: string | undefined
  /** Answers wait for it. */
  held: Promise<void> | undefined
}

/**
 * An OpenAI-compatible embedder over HTTP. Texts that share words are near each other: each word adds to one of
 * 1024 places. `broken` is what it answers instead, as long as it is set.
 */
export async function testEmbedder(t: Pick<TestContext, 'after'>) {
  const asked: Asked[] = []
  const world: World = { asked, broken: undefined, refused: undefined, held: undefined }
  const server = createServer(async (req, res) => {
    const sent = JSON.parse(Buffer.concat(await req.toArray()).toString()) as Asked
    asked.push({ ...sent, authorization: req.headers.authorization })
    await world.held
    const data = sent.input.map((text, index) => ({ index, embedding: embed(text) }))
    const refusal =
      world.refused !== undefined && sent.input.includes(world.refused)
        ? { status: 400, body: '' }
        : undefined
    const { status, body } = world.broken ??
      refusal ?? {
        status: req.url === '/v1/embeddings' ? 200 : 404,
        body: JSON.stringify({ object: 'list', data: data.toReversed(), model: sent.model }),
      }
    res.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(t, async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`
  return { world, settings: { EMBEDDINGS_URL: url, EMBEDDINGS_MODEL: 'words' } }
}

function embed(text: string): number[] {
  const vector = new Array<number>(1024).fill(0)
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) {
    const place = createHash('sha256').update(word).digest().readUInt16BE() % 1024
    vector[place] = (vector[place] ?? 0) + 1
  }
  return vector
}

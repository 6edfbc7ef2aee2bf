import { z } from 'zod'

const Url = z.url({ protocol: /^https?$/ })

/** Where integrations are tested, and the deployment's own keys: what an org without its own falls back on. */
export const integrationSettings = {
  PODHOST_API_URL: Url.default('https://api.runpod.io/v2').describe('API of the pod host'),
  CODEHOST_API_URL: Url.default('https://api.github.com').describe('API of the code host'),
  NOTES_API_URL: Url.default('https://api.notion.com').describe('API of the notes service'),
  CODEHOST_TOKEN: z.string().optional().describe('Token of the code host, for public repositories'),
  NOTES_API_KEY: z.string().optional().describe('API key of the notes service'),
  GOOGLE_SERVICE_ACCOUNT: z
    .string()
    .optional()
    .describe('Key file of a service account of the calendar service, as JSON'),
  EMBEDDINGS_URL: Url.optional().describe(
    'OpenAI-compatible base URL of the embedder; without it search goes by text alone',
  ),
  EMBEDDINGS_MODEL: z
    .string()
    .min(1)
    .max(200)
    .default('default')
    .describe('Model asked of the embedder, kept on each version'),
  EMBEDDINGS_API_KEY: z.string().optional().describe('Bearer token of the embedder'),
  RENDERER_URL: Url.optional().describe(
    'Renders JavaScript pages; without it they are almost empty',
  ),
  RENDERER_API_KEY: z.string().optional().describe('Bearer token of the renderer'),
  SEARCH_SERVICE_URL: Url.optional().describe('Web search, for the pack query web'),
}

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { contradictions, unknownSettings } from './setting-checks.ts'

test('settings that nobody reads are named, with what may have been meant; the rest of an environment is left alone', () => {
  const env = {
    PATH: '/bin',
    HOME: '/root',
    GIT_AUTHOR_NAME: 'somebody',
    AUTH_PORT: '0',
    SECRET_KEY_FILE: '/run/secret',
    ACCESS_ENFORCED: 'true',
    KNOWLEDGE_NOTHING: '1',
    STORE_UNSET: '',
    MCP_TIMEOUT: '1',
    AGENT_TOOLSDIRECTORY: '/opt',
  }
  assert.deepEqual(unknownSettings(env), [
    'ACCESS_ENFORCED is read by nobody: is ACCESS_ENFORCE meant?',
    'KNOWLEDGE_NOTHING is read by nobody: see .env.example',
  ])
})

test('every contradiction is named at once', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-checks-'))
  t.after(() => rm(folder, { recursive: true }))
  const [id, empty] = [join(folder, 'id'), join(folder, 'empty')]
  await Promise.all([writeFile(id, 'x'), writeFile(empty, '')])
  const env = {
    BOT_TOKEN: 'x',
    CLIENT_ID_FILE: id,
    EMBEDDINGS_API_KEY_FILE: empty,
    RENDERER_API_KEY: 'x',
    SECRET_KEY: 'x',
    SECRET_KEY_FILE: '/run/key',
    PORT: '8080',
    AUTH_PORT: '8080',
    OPS_PORT: '0',
    MCP_PORT: '0',
  }
  assert.deepEqual(contradictions(env), [
    'SECRET_KEY and SECRET_KEY_FILE are both set: unset one',
    'BOT_TOKEN, CLIENT_ID without CLIENT_SECRET, REDIRECT_URI: set all of them or none',
    'RENDERER_API_KEY without RENDERER_URL: nobody is sent it',
    'PORT and AUTH_PORT are the same port: give each its own',
  ])
  assert.deepEqual(contradictions({ PORT: '8080', AUTH_PORT: '8081' }), [])
})

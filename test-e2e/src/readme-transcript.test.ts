import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { hasPods, readmeWith, transcript } from './transcript.ts'

test("the README's transcript is what a run prints", async (t) => {
  if (!hasPods) t.diagnostic('not root on Linux: the steps with a pod were not run')
  const there = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  assert.equal(there, await readmeWith(await transcript()), 'run: npm run transcript')
})

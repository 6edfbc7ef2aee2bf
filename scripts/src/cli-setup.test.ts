import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { cliSetup, keptCliSetup } from './cli-setup.ts'

test('cli-setup.sh is the one that the files of the pod image make, and a shell can read it', async () => {
  assert.equal(
    await keptCliSetup(),
    await cliSetup(),
    'run node scripts/src/cli-setup.ts --write and commit the file',
  )
  execFileSync('sh', ['-n'], { input: await cliSetup() })
})

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { summaryOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'

const page = new URL('../../../../docs/agents/mcp.md', import.meta.url)

test('the page for authors of agents has every tool, its scope and whether it asks for confirmation', async () => {
  const rows = (await readFile(page, 'utf8'))
    .split('\n')
    .filter((line) => /^\| `\w+\.\w+`/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  assert.deepEqual(
    rows.map(([, ...cells]) => cells.slice(0, 4)),
    tools.map((tool) => [
      `\`${tool.name}\``,
      `\`${tool.scope}\``,
      tool.confirm ? 'yes' : '',
      summaryOf(tool),
    ]),
  )
})

/** `npm run bench [what]`: each measures in one run on one machine and prints a table. */
const [what = 'product', folder] = process.argv.slice(2)

if (what === 'product') await import('./product.ts')
else if (what === 'knowledge') await (await import('./knowledge.ts')).benchKnowledge()
else if (what === 'compute') await (await import('./compute.ts')).benchCompute()
else if (what === 'agents') await (await import('./agents.ts')).benchAgents()
else if (what === 'mcp') await (await import('./mcp.ts')).benchMcp()
else if (what === 'ops') await (await import('./ops.ts')).benchOps()
else if (what === 'store') await (await import('./store.ts')).benchStore()
else if (what === 'quality' && folder) await (await import('./quality.ts')).benchQuality(folder)
else {
  console.error(
    'Usage: npm run bench [product | knowledge | compute | agents | mcp | ops | store | quality <folder of a judged collection>]',
  )
  process.exitCode = 1
}

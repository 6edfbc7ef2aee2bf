import type { Report } from './chaos.ts'
import type { Outage } from './outages.ts'

/** What happened, in small tables of Markdown. */
export function tablesOf(report: Report): string {
  const { ledgers, outages, tables, slowestJobMs, restMs, answerMs, faults } = report
  const lines = ledgers.map(({ kind, answers, unanswered, acknowledged }) => [
    kind.name,
    answers,
    unanswered,
    acknowledged.size,
  ])
  const ended = [...Map.groupBy(outages, ({ victims }) => victims.join(', '))].map(
    ([victims, of]) => [victims, of.length, ...backSeconds(of)],
  )
  const again = tables.runs.filter(({ attempts }) => attempts > 1).length
  const failed = tables.runs.filter(({ state }) => state === 'failed').length
  const facts = [
    ['audit lines', tables.audit.length],
    ['ticks', tables.ticks.length],
    ['jobs', tables.runs.length],
    ['of them begun more than once', again],
    ['of them failed', failed],
    ['slowest job, outages not counted, s', seconds(slowestJobMs)],
    ['all at rest after the last recovery, s', seconds(restMs)],
    ['usual answer before and after, ms', `${answerMs.before}, ${answerMs.after}`],
    ['faults', faults.length],
  ]
  return [
    table(['writes', 'acknowledged', 'unanswered', 'must be there'], lines),
    table(['killed', 'times', 'back after, s (median)', '(longest)'], ended),
    table(['what', 'counted'], facts),
    ...faults,
  ].join('\n\n')
}

const seconds = (ms: number) => (ms / 1000).toFixed(1)

function backSeconds(outages: Outage[]) {
  const times = outages
    .map(({ from, until }) => until.getTime() - from.getTime())
    .sort((a, b) => a - b)
  return [times[times.length >> 1] ?? 0, times.at(-1) ?? 0].map(seconds)
}

function table(head: string[], rows: (string | number)[][]): string {
  const all = [head, head.map(() => '---'), ...rows]
  return all.map((row) => `| ${row.join(' | ')} |`).join('\n')
}

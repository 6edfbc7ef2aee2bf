import type { KnowledgeSettings, OwnSettings } from '@guildhall/contracts/knowledge'
import type { SettingsChange } from '@guildhall/contracts/knowledge-settings'
import { AppError } from '@guildhall/service/errors'

/** An org's own settings after a change: null returns one to its default. Throws as `checkOverlap` does. */
export function changedSettings(
  own: OwnSettings,
  change: SettingsChange,
  defaults: KnowledgeSettings,
): OwnSettings {
  const after = Object.fromEntries(
    Object.entries({ ...own, ...change }).filter(([, value]) => value !== null),
  ) as OwnSettings
  if ('chunk_chars' in change || 'chunk_overlap' in change) checkOverlap({ ...defaults, ...after })
  return after
}

/** Throws if more than half of a passage would repeat the one before. */
function checkOverlap({ chunk_chars, chunk_overlap }: KnowledgeSettings): void {
  const most = Math.floor(chunk_chars / 2)
  if (chunk_overlap <= most) return
  const message = `chunk_overlap is at most half of chunk_chars: with passages of ${chunk_chars} characters up to ${most}, not ${chunk_overlap}`
  throw new AppError('invalid', 'settings.overlap', message, {
    details: [{ path: '/body/chunk_overlap', message: `at most ${most}` }],
  })
}

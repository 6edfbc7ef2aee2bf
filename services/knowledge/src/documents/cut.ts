import { type Cut, cutPassages, type SplitOptions } from '../passages/split.ts'
import { checkLength } from './rules.ts'

/** As `cutPassages`; throws `document.too_long` for a text of more passages than a source may have, where it can before cutting. */
export function cutText(text: string, options: SplitOptions): Cut[] {
  checkLength(Math.ceil(text.replace(/\s+/g, '').length / options.chunkChars))
  const cuts = cutPassages(text, options)
  checkLength(cuts.length)
  return cuts
}

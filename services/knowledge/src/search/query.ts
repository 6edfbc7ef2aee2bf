export type Term = { phrase: string } | { word: string }

/** What a text query asks for. A row must hold one term of each `required` group and none of `excluded`; `words` rank. */
export interface ParsedQuery {
  words: string[]
  required: Term[][]
  excluded: Term[]
}

/** Quoted stretches, closed or not, else runs without white space. */
const PARTS = /(?<!\S)-?["“”][^"“”]*["“”]?|\S+/g
/** Words beyond these say nothing more and cost time. */
const MOST_WORDS = 32

/** English words that say nothing about a subject: those of Lucene, and those that questions begin with. */
const STOP_WORDS = new Set(
  `a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will
  with what how when where who which why do does did can i me my we our you your`.split(/\s+/),
)

/**
 * Reads a query as people type it: words are alternatives, ranked; "a phrase" must occur; -word and -"phrase" must not;
 * OR makes a phrase and its neighbour alternatives. Never throws: what has no meaning is a word.
 */
export function parseQuery(text: string): ParsedQuery {
  const { groups, excluded } = grouped(text)
  const required = groups
    .filter((group) => group.some((term) => 'phrase' in term))
    .slice(0, MOST_WORDS)
    .map((group) => group.slice(0, MOST_WORDS))
  const words = groups.flat().flatMap((term) => ('word' in term ? wordsIn(term.word) : []))
  const telling = words.filter((word) => !STOP_WORDS.has(word.toLowerCase()))
  const ranking = telling.length > 0 || required.length > 0 ? telling : words
  return {
    words: [...new Set(ranking)].slice(0, MOST_WORDS),
    required,
    excluded: excluded.slice(0, MOST_WORDS),
  }
}

/** The wanted terms, those joined by OR in one group, and the excluded ones. */
function grouped(text: string): { groups: Term[][]; excluded: Term[] } {
  const parts = (folded(text).match(PARTS) ?? []).filter((part) => wordsIn(part).length > 0)
  const groups: Term[][] = []
  const excluded: Term[] = []
  for (const [index, part] of parts.entries()) {
    if (part === 'OR') continue
    const joined = parts[index - 1] === 'OR' ? groups.at(-1) : undefined
    if (/^-[^-]/.test(part)) excluded.push(termOf(part))
    else if (joined) joined.push(termOf(part))
    else groups.push([termOf(part)])
  }
  return { groups, excluded }
}

/** Runs of letters and digits, as both drivers' tokenizers see them. */
export const wordsIn = (text: string): string[] => text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []

/** Without accents, for engines that strip them only after stemming: `résumés` would not meet `resume`. */
export const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')

function termOf(part: string): Term {
  const words = wordsIn(part).join(' ')
  return /^-?["“”]/.test(part) ? { phrase: words } : { word: words }
}

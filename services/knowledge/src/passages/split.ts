/** A stretch of the text: `start` inclusive, `end` exclusive, in UTF-16 units like `slice`. */
interface Span {
  start: number
  end: number
  /** A whole sentence, so it may be repeated as overlap; false for a part of one that was too long. */
  sentence: boolean
  /** The first span of a paragraph, and how far that paragraph goes. */
  paragraphEnd?: number
}

export interface SplitOptions {
  /** Most characters (UTF-16 units) of a passage, without its title line. */
  chunkChars: number
  /** Most characters repeated from the end of the previous passage, always whole sentences. */
  chunkOverlap?: number
  /** Stands as the first line of each passage and is not counted. */
  title?: string
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' })
const WORDS = new Intl.Segmenter('en', { granularity: 'word' })
const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** ICU slows down on very long input; no sentence of use is longer, and a cut here falls on white space if there is any. */
const SEGMENTED_AT_ONCE = 20_000

/**
 * Passages of at most `chunkChars` that together hold the whole text in its order, filled with whole paragraphs, else whole
 * sentences, else whole words. Only a single word longer than a passage (a key in base64, a text without any white space that
 * ICU knows no words in) is cut, between graphemes. An empty text has no passages.
 */
export function splitPassages(text: string, options: SplitOptions): string[] {
  return cutPassages(text, options).map(({ content }) => content)
}

/** A passage, and how many code points at its beginning are the title line and what it repeats. */
export interface Cut {
  content: string
  repeated: number
}

/** As `splitPassages`, saying of each passage what is not its own. */
export function cutPassages(text: string, options: SplitOptions): Cut[] {
  const { chunkChars, chunkOverlap = 0, title = '' } = options
  const plain = text.replace(/\r\n?/g, '\n')
  const spans = paragraphs(plain).flatMap((paragraph) => pieces(plain, paragraph, chunkChars))
  const heading = title.trim() ? `${title.trim()}\n` : ''
  return pack(spans, chunkChars, chunkOverlap).map(({ start, fresh, end }) => ({
    content: heading + plain.slice(start, end),
    repeated: [...heading, ...plain.slice(start, fresh)].length,
  }))
}

/** Trimmed paragraphs: stretches between blank lines. */
function paragraphs(text: string): Span[] {
  const found: Span[] = []
  let start = 0
  for (const gap of text.matchAll(/\n[^\S\n]*(?=\n)/g)) {
    found.push({ start, end: gap.index, sentence: true })
    start = gap.index
  }
  found.push({ start, end: text.length, sentence: true })
  return trimmed(text, found)
}

/** The sentences of a paragraph, those that do not fit a passage cut further. */
function pieces(text: string, paragraph: Span, size: number): Span[] {
  const sentences = segmented(text, paragraph, SENTENCES).flatMap((sentence) =>
    fitting(text, sentence, size),
  )
  const [first] = sentences
  if (first) first.paragraphEnd = paragraph.end
  return sentences
}

function fitting(text: string, sentence: Span, size: number): Span[] {
  if (sentence.end - sentence.start <= size) return [sentence]
  const part = { ...sentence, sentence: false }
  return tokens(text, part).flatMap((token) => {
    if (token.end - token.start <= size) return [token]
    return segmented(text, token, WORDS).flatMap((word) =>
      word.end - word.start <= size ? [word] : hardCut(text, word, size),
    )
  })
}

function tokens(text: string, { start, end, sentence }: Span): Span[] {
  return [...text.slice(start, end).matchAll(/\S+/g)].map((match) => ({
    start: start + match.index,
    end: start + match.index + match[0].length,
    sentence,
  }))
}

function segmented(text: string, span: Span, segmenter: Intl.Segmenter): Span[] {
  const found: Span[] = []
  let start = span.start
  while (start < span.end) {
    const end = windowEnd(text, start, span.end)
    for (const { index, segment } of segmenter.segment(text.slice(start, end))) {
      found.push({
        start: start + index,
        end: start + index + segment.length,
        sentence: span.sentence,
      })
    }
    start = end
  }
  return trimmed(text, found)
}

/** Where one call of the segmenter stops: at white space if the window has any, else between graphemes. */
function windowEnd(text: string, start: number, end: number): number {
  if (end - start <= SEGMENTED_AT_ONCE) return end
  const window = text.slice(start, start + SEGMENTED_AT_ONCE)
  const space = window.search(/\s\S*$/)
  return space > 0 ? start + space : start + graphemeBoundary(text, start, SEGMENTED_AT_ONCE)
}

function hardCut(text: string, word: Span, size: number): Span[] {
  const cuts: Span[] = []
  for (let start = word.start; start < word.end; ) {
    const end = word.end - start <= size ? word.end : start + graphemeBoundary(text, start, size)
    cuts.push({ start, end, sentence: false })
    start = end
  }
  return cuts
}

/** The last boundary between graphemes at most `size` after `start`; inside a grapheme longer than that, between code points. */
function graphemeBoundary(text: string, start: number, size: number): number {
  const window = text.slice(start, start + size + 1)
  const index = GRAPHEMES.segment(window).containing(size)?.index ?? size
  if (index > 0) return index
  const low = window.charCodeAt(size)
  return low >= 0xdc00 && low <= 0xdfff ? size - 1 : size
}

function trimmed(text: string, spans: Span[]): Span[] {
  return spans.flatMap((span) => {
    const part = text.slice(span.start, span.end)
    const start = span.start + part.length - part.trimStart().length
    const end = span.start + part.trimEnd().length
    return start < end ? [{ ...span, start, end }] : []
  })
}

/** A passage: from `start` to `end`, of which what comes before `fresh` stands in the passage before as well. */
interface Packed {
  start: number
  fresh: number
  end: number
}

/** Joins neighbouring spans into passages, starting a new one where the next span, or a whole paragraph, no longer fits. */
function pack(spans: Span[], size: number, overlap: number): Packed[] {
  const passages: Packed[] = []
  let current: Span[] = []
  let fresh = spans[0]?.start ?? 0
  for (const span of spans) {
    const first = current[0]
    if (first && endsPassage(first.start, span, size)) {
      passages.push(joined(current, fresh))
      current = repeated(current, span, size, overlap)
      fresh = span.start
    }
    current.push(span)
  }
  return current.length > 0 ? [...passages, joined(current, fresh)] : passages
}

/** A paragraph that would fit a passage of its own is not begun in one where it does not fit. */
function endsPassage(
  start: number,
  { start: from, end, paragraphEnd = end }: Span,
  size: number,
): boolean {
  const wanted = paragraphEnd - from <= size ? paragraphEnd : end
  return wanted - start > size
}

/** The last whole sentences of a passage that fit the overlap and leave room for what comes next. */
function repeated(passage: Span[], next: Span, size: number, overlap: number): Span[] {
  const end = passage.at(-1)?.end ?? 0
  let from = passage.length
  while (from > 0) {
    const span = passage[from - 1]
    if (!span?.sentence || end - span.start > overlap || endsPassage(span.start, next, size)) break
    from--
  }
  return passage.slice(from)
}

const joined = (spans: Span[], fresh: number): Packed => ({
  start: spans[0]?.start ?? 0,
  fresh,
  end: spans.at(-1)?.end ?? 0,
})

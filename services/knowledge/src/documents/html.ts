import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import { NodeHtmlMarkdown } from 'node-html-markdown'
import { readMarkdown } from './markdown.ts'
import { tooComplex } from './text.ts'

type Page = ReturnType<typeof parseHTML>['document']
type Element = Page['body']

/** Never part of what a page says. */
const CLUTTER =
  'script,style,noscript,template,nav,form,iframe,object,embed,svg,canvas,button,input,select,textarea,dialog,[hidden],[aria-hidden="true"],[role="navigation"]'
/** Outside of an article these frame the site; within one they belong to it. */
const FRAME = 'body > header, body > footer, body > aside, [role="banner"], [role="contentinfo"]'
/** Shorter main content than this is taken for a failed guess of Readability (its own default is 500). */
const LEAST_MAIN_CHARS = 100

/** Deeper pages are refused: the parsers take quadratic time there. Browsers themselves stop at 512. */
const DEEPEST_READ = 1000
/** Deeper pages are read whole, as Readability takes cubic time (a page nested 1000 deep: 11 s). */
const DEEPEST_SCORED = 200
/** These have no end tag, or may lack it without nesting any deeper. */
const UNNESTED =
  /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|d[td]|t[rdh]|thead|tbody|tfoot|option|optgroup|colgroup|r[tp]|path|rect|circle|line)$/

const SLICE_CHARS = 8_000
/** What begins a line of its own, so a page can be cut before it. */
const BLOCK =
  /^(br|p|div|h[1-6]|ul|ol|dl|table|pre|blockquote|section|article|figure|hr|li|d[td]|tr|thead|tbody|tfoot)$/i
/** These can be cut in the middle, and read the same without their tags. */
const BOX = /^(body|div|main|article|section|header|footer|aside|p|center|font|span|b|i|a)$/i
/** And these with their tags around each part; a list with numbers cannot. */
const ROWS = /^(ul|dl|table|thead|tbody|tfoot)$/i

/** The main content of a page as readable text, the whole body where no main content stands out, and its title. */
export function readHtml(source: string): { title: string | null; text: string } {
  const depth = depthOf(source)
  if (depth > DEEPEST_READ) throw tooComplex()
  const { document } = parseHTML(wholePage(source))
  const title = titleOf(document)
  for (const node of document.querySelectorAll(CLUTTER)) node.remove()
  for (const node of document.querySelectorAll(FRAME)) node.remove()
  const body: string = document.body?.innerHTML ?? ''
  const main = depth > DEEPEST_SCORED ? null : mainContent(document)
  return { title, text: htmlToText(main ?? body) }
}

/** Changes the document. */
function mainContent(document: Page): string | null {
  // Classes hold the languages of code.
  const options = { charThreshold: LEAST_MAIN_CHARS, keepClasses: true }
  const main = new Readability(document, options).parse()
  return main?.content && (main.length ?? 0) >= LEAST_MAIN_CHARS ? main.content : null
}

/** How deeply elements nest, by their tags alone: an upper bound for pages that close what they open. */
function depthOf(source: string): number {
  let depth = 0
  let deepest = 0
  for (const [, slash, name = ''] of source.matchAll(/<(\/?)([a-z][a-z0-9-]*)/gi)) {
    if (UNNESTED.test(name.toLowerCase())) continue
    depth = Math.max(0, depth + (slash ? -1 : 1))
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** linkedom leaves out what has no html element around it. */
const wholePage = (source: string): string =>
  /<html[\s>]/i.test(source) ? source : `<html><body>${source}</body></html>`

function titleOf(document: Page): string | null {
  const texts = ['title', 'h1'].map((name) => document.querySelector(name)?.textContent ?? '')
  return texts.map((text: string) => text.replace(/\s+/g, ' ').trim()).find(Boolean) ?? null
}

/** Readable text of HTML, through Markdown, so that tables, lists and code read the same as in a Markdown file. */
export const htmlToText = (html: string): string =>
  slices(html)
    .map((slice) => readMarkdown(NodeHtmlMarkdown.translate(slice)).text)
    .filter(Boolean)
    .join('\n\n')

/** The blocks in turns, as NodeHtmlMarkdown takes quadratic time in what it is given at once (400 kB of lines in one paragraph: 8 s). */
const slices = (html: string): string[] =>
  slicesOf(parseHTML(`<html><body>${html}</body></html>`).document.body)

function slicesOf(parent: Element): string[] {
  const found: string[] = []
  let slice = ''
  const cut = () => {
    if (slice) found.push(slice)
    slice = ''
  }
  for (const node of parent.childNodes) {
    const html = String(node)
    if (slice.length > SLICE_CHARS && BLOCK.test(node.nodeName)) cut()
    const large = html.length > SLICE_CHARS
    if (large && (BOX.test(node.nodeName) || ROWS.test(node.nodeName))) {
      cut()
      found.push(...partsOf(node as Element))
    } else slice += html
  }
  cut()
  return found
}

/** An element's slices, each of which reads as it does within the element. */
function partsOf(element: Element): string[] {
  const name = element.nodeName.toLowerCase()
  const parts = slicesOf(element)
  return ROWS.test(name) ? parts.map((part) => `<${name}>${part}</${name}>`) : parts
}

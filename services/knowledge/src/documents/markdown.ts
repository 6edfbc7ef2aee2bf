import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { toString as plainOf } from 'mdast-util-to-string'
import { gfm } from 'micromark-extension-gfm'

type Root = ReturnType<typeof fromMarkdown>
type Nodes = Root | Root['children'][number]
type Parents = Extract<Nodes, { children: unknown[] }>
type Table = Extract<Nodes, { type: 'table' }>

/** The readable text of Markdown (CommonMark and GitHub tables) and its first heading; front matter is dropped. */
export function readMarkdown(source: string): { title: string | null; text: string } {
  const tree = fromMarkdown(withoutFrontMatter(source), {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  })
  const heading = tree.children.find((node) => node.type === 'heading')
  return { title: heading ? plainOf(heading).trim() || null : null, text: blocks(tree) }
}

function withoutFrontMatter(source: string): string {
  const opening = /^(---|\+\+\+)[^\S\n]*\r?\n/.exec(source)
  if (!opening) return source
  const fence = opening[1] === '---' ? /^(---|\.\.\.)[^\S\n]*\r?$/m : /^\+\+\+[^\S\n]*\r?$/m
  const rest = source.slice(opening[0].length)
  const closing = fence.exec(rest)
  return closing ? rest.slice(closing.index + closing[0].length) : source
}

function blocks(parent: Parents): string {
  return parent.children
    .map(block)
    .filter((text) => text !== '')
    .join('\n\n')
}

function block(node: Nodes): string {
  switch (node.type) {
    case 'code':
      return node.value
    case 'html':
      return withoutTags(node.value)
    case 'table':
      return tableText(node)
    case 'list':
      return node.children
        .map((item, index) => {
          const mark = node.ordered ? `${(node.start ?? 1) + index}. ` : '- '
          return (
            mark +
            blocks(item)
              .replace(/\n{2,}(?=(- |\d+\. ))/g, '\n')
              .replaceAll('\n', '\n  ')
          )
        })
        .join('\n')
    case 'blockquote':
    case 'footnoteDefinition':
      return blocks(node)
    case 'definition':
    case 'thematicBreak':
      return ''
    default:
      return inline(node).trim()
  }
}

/** One line a row, cells divided by bars, so that a row can be read without its table. */
const tableText = (table: Table): string =>
  table.children
    .map((row) => row.children.map((cell) => inline(cell).trim()).join(' | '))
    .join('\n')

function inline(node: Nodes): string {
  if (node.type === 'break') return '\n'
  if (node.type === 'html') return ''
  if (node.type === 'image' || node.type === 'imageReference') return node.alt ?? ''
  if ('value' in node) return node.value
  return 'children' in node ? node.children.map(inline).join('') : ''
}

/** No pattern here can look further than the next `<`, so that hostile text stays linear. */
const withoutTags = (html: string): string =>
  html
    .replace(/<!--[\s\S]*?(-->|$)/g, '')
    .replace(/<(script|style)\b[\s\S]*?(<\/\1\b|$)/gi, '<')
    .replace(/<[^<>]*>/g, '')
    .trim()

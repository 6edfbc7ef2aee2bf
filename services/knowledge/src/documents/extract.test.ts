import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extract } from './extract.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const read = (name: string, text: string) => extract(name, bytes(text))
const refused = (code: string) => ({ kind: 'invalid', code: `document.${code}` })

const PARAGRAPH = 'To deploy the app you push the branch and wait for it. '.repeat(8)
const PAGE = `<!doctype html><html><head><title>Deploy &amp; run</title><style>p{}</style></head><body>
  <header>Site head</header><nav><a href="/">Nav link</a></nav>
  <article><h1>Deploying</h1><p>${PARAGRAPH}</p>
  <table><tr><th>Name</th><th>Port</th></tr><tr><td>web</td><td>80</td></tr></table>
  <ul><li>one</li><li>two<ul><li>inner</li></ul></li></ul><pre><code class="language-sh">npm  start</code></pre>
  <form>Form text<input value="x"></form></article>
  <script>evil()</script><footer>Copyright</footer></body></html>`

test('text keeps its words and is named after its file', async () => {
  const { title, text } = await read('Notes/My file.TXT', '\n\none  \r\ntwo\r\n\r\n\r\n\r\nthree\n')
  assert.deepEqual({ title, text }, { title: 'My file.TXT', text: 'one\ntwo\n\nthree' })
})

test('UTF-8 and UTF-16 with byte order marks are read', async () => {
  const little = Buffer.from('\ufeffgrün', 'utf16le')
  for (const file of [bytes('\ufeffgrün'), little, Buffer.from(little).swap16()]) {
    assert.equal((await extract('a.txt', file)).text, 'grün')
  }
})

test('what is not text is refused, whatever its name', async () => {
  const latin1 = Buffer.from('gr\xfcn', 'latin1')
  for (const file of [latin1, bytes('a\0b'), Buffer.from([0xff, 0xfe, 0x00, 0xd8])]) {
    for (const name of ['a.txt', 'a.md', 'a.html']) {
      await assert.rejects(extract(name, file), refused('not_text'))
    }
  }
})

test('other types of file are refused with what is accepted', async () => {
  for (const name of ['a.exe', 'md', '', 'a.md/b', '.constructor', 'a.toString']) {
    await assert.rejects(read(name, 'x'), { ...refused('unsupported'), message: /\.txt, \.md/ })
  }
})

test('a file that says nothing is refused', async () => {
  for (const [name, text] of [
    ['a.txt', ' \n'],
    ['a.md', '---\na: b\n---\n'],
    ['a.html', '<nav>x</nav>'],
  ] as const) {
    await assert.rejects(read(name, text), refused('empty'))
  }
})

test('Markdown becomes readable text under its first heading', async () => {
  const source = `---\ntitle: x\n---\n# Hello *you*\n\n- a\n- b\n  1. c\n  2. d\n\n| n | port |\n|---|---|\n| web | 80 |
\n\`\`\`js\nlet  x\n\`\`\`\n<div>html</div>\n\n![alt](x.png) [link](http://x.test) \\*a\\*`
  const { title, text } = await read('a.md', source)
  assert.equal(title, 'Hello you')
  assert.equal(
    text,
    'Hello you\n\n- a\n- b\n  1. c\n  2. d\n\nn | port\nweb | 80\n\nlet  x\n\nhtml\n\nalt link *a*',
  )
})

test('Markdown without a heading is named after its file, and a rule is not front matter', async () => {
  const { title, text } = await read('a.markdown', '---\n\nonly text')
  assert.deepEqual([title, text], ['a.markdown', 'only text'])
})

test('a page becomes its main content with readable tables, lists and code', async () => {
  const { title, text } = await read('a.html', PAGE)
  assert.equal(title, 'Deploy & run')
  for (const part of [
    PARAGRAPH.trim(),
    'Name | Port\nweb | 80',
    '- one\n- two\n  - inner',
    'npm  start',
  ]) {
    assert.ok(text.includes(part), part)
  }
  assert.doesNotMatch(text, /Nav link|Copyright|evil|Form text|Site head/)
})

test('a page without a main content is read whole', async () => {
  const { title, text } = await read(
    'a.htm',
    '<h1>Hours</h1><p>9 &ndash; 17</p><script>x</script><nav>menu</nav>',
  )
  assert.deepEqual([title, text], ['Hours', 'Hours\n\n9 – 17'])
  const deep = '<div>'.repeat(300)
  assert.equal((await read('a.htm', `${deep}<p>Deep &amp; fine</p>`)).text, 'Deep & fine')
})

test('a page of many paragraphs is read in its order, and words beside a block stay with it', async () => {
  const numbers = Array.from({ length: 3000 }, (_, n) => n)
  const page = numbers.map((n) => `<p>Paragraph ${n} of it.</p>loose <b>words</b> ${n}`).join('')
  const { text } = await read('a.html', `<main><div>${page}</div></main>`)
  const expected = numbers.map((n) => `Paragraph ${n} of it.\n\nloose words ${n}`)
  assert.equal(text, expected.join('\n\n'))
})

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const data = join(root, 'test-e2e', 'data')
const OWN = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/contributing/add-a-route.md',
  'docs/contributing/request.md',
]

export interface Question {
  question: string
  /** The file that answers, as its key names it. */
  source: string
  /** Words that stand in the right passage and nowhere else. */
  answer: string
}

/** The repository's own documents, three public-domain texts `without` some, and questions written by hand about them. */
export async function demoDocuments(
  ...without: string[]
): Promise<{ files: File[]; questions: Question[] }> {
  const left = ['README.md', ...without]
  const texts = (await readdir(data)).filter(
    (name) => /\.(txt|md|html)$/.test(name) && !left.includes(name),
  )
  const paths = [...texts.map((name) => join(data, name)), ...OWN.map((name) => join(root, name))]
  const files = paths.map(
    async (path) => new File([await readFile(path)], path.slice(path.lastIndexOf('/') + 1)),
  )
  const questions = JSON.parse(await readFile(join(data, 'questions.json'), 'utf8')) as Question[]
  const asked = questions.filter(({ source }) => !without.includes(source))
  return { files: await Promise.all(files), questions: asked }
}

import { z } from 'zod'

/** What the functions of a pack's `queries.ts` are given and give (docs/packs.md). */

export interface WebResult {
  title: string
  url: string
  content: string
}

export interface AnswerTools {
  /** The pack's settings that have a value. */
  settings: Readonly<Record<string, string>>
  /** Title and readable text of a page on the public internet. Throws where it cannot be read. */
  page(url: string): Promise<Answered>
  /** What a public address answers as JSON. */
  json(url: string): Promise<unknown>
  /** Results of the web search, for a query with `needs_search`. */
  searchWeb(words: string): Promise<WebResult[]>
}

export const Answered = z.object({
  /** Where it can be read; empty where it is made of several pages. */
  url: z.string().max(2000),
  title: z.string().min(1),
  text: z.string(),
})
export type Answered = z.output<typeof Answered>

/** Lists are those of parameters with `many`. */
export type Asked = Readonly<Record<string, string | readonly string[]>>
export type Answer = (asked: Asked, tools: AnswerTools) => Promise<Answered>

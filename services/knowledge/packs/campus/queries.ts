import type { Answer } from '@guildhall/knowledge/packs/answer'

/** Results of the web search as a numbered list. */
export const web: Answer = async ({ words }, { searchWeb }) => {
  const results = await searchWeb(String(words))
  const entries = results.map(({ title, url, content }, n) =>
    [`${n + 1}. ${title}`, url, content].filter(Boolean).join('\n'),
  )
  return {
    url: '',
    title: `Web search: ${words}`,
    text: entries.length > 0 ? entries.join('\n\n') : 'The web search found nothing.',
  }
}

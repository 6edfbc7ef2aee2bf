/** The pages that a sign-in of the CLI ends at: plain HTML without scripts. */

interface Shown {
  title: string
  /** Paragraphs. */
  text: string[]
  /** Shown once, for copying. */
  token?: string
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:10vh auto;padding:0 1rem}' +
  'code{display:block;padding:1rem;border:1px solid;border-radius:.5rem;overflow-wrap:anywhere;user-select:all}'

export function page({ title, text, token }: Shown): string {
  const paragraphs = text.map((one) => `<p>${escaped(one)}</p>`).join('')
  const code = token === undefined ? '' : `<code id="token">${escaped(token)}</code>`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style><h1>${escaped(title)}</h1>${code}${paragraphs}</html>`
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)

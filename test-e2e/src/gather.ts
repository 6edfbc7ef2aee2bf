import { signInCookie } from '@guildhall/auth/sign-in/state'
import { MEMBER_SIGN_IN_COOKIE } from '@guildhall/contracts/accounts'
import { SIGN_IN_COOKIE } from '@guildhall/contracts/auth'
import { CLI_SIGN_IN_COOKIE } from '@guildhall/contracts/cli-tokens'

/** Shorter values, such as an empty cookie, are no secrets and are found anywhere. */
const LEAST_CHARS = 12
const QUERY = ['code', 'state', 'code_challenge']
/** In an answer `code` is that of a refusal. */
const ANSWERED = /"\w*(?:token|_key)":"([^"]+)"/g
const SENT = /"(?:\w*token|\w*_key|code|value)":"([^"]+)"/g
const MACHINE = /plat_[\w-]{43}/g

/** Secrets, and what each is. */
export type Secrets = Map<string, string>

/** Sees every request of this process and its answer until disposed of, and keeps the credentials in them. */
export function watchFetch() {
  const { fetch } = globalThis
  const secrets: Secrets = new Map()
  const keep = (what: string, value: string | null | undefined) => {
    if (value && value.length >= LEAST_CHARS) secrets.set(value, what)
  }
  const keepQuery = (what: string, url: string | null) => {
    if (!url || !URL.canParse(url)) return
    for (const name of QUERY) keep(`${name} of ${what}`, new URL(url).searchParams.get(name))
  }
  const keepText = (what: string, text: string, fields = ANSWERED) => {
    for (const [, value] of text.matchAll(fields)) keep(what, value)
    for (const [value] of text.matchAll(MACHINE)) keep(what, value)
  }
  const keepCookie = (pair: string) => keep('cookie', pair.slice(pair.indexOf('=') + 1))

  globalThis.fetch = async (to, init) => {
    const what = `${init?.method ?? 'GET'} ${String(to).split('?')[0]}`
    keepQuery(what, String(to))
    const sent = new Headers(init?.headers)
    keep(`the credential of ${what}`, sent.get('authorization')?.split(' ')[1])
    for (const pair of sent.get('cookie')?.split('; ') ?? []) keepCookie(pair)
    if (typeof init?.body === 'string') keepText(`the body of ${what}`, init.body, SENT)
    const answer = await fetch(to, init)
    for (const line of answer.headers.getSetCookie()) keepCookie(line.split(';')[0] ?? '')
    keepQuery(`where ${what} leads`, answer.headers.get('location'))
    keepText(`the answer of ${what}`, await answer.clone().text())
    return answer
  }
  const stop = () => {
    globalThis.fetch = fetch
  }
  return { secrets, [Symbol.dispose]: stop }
}

/** What is sealed in those of the secrets that are cookies of a sign-in: state and PKCE verifier. */
export async function openSignIns(secrets: Secrets, secretKey: string): Promise<Secrets> {
  const opened: Secrets = new Map()
  for (const name of [SIGN_IN_COOKIE, MEMBER_SIGN_IN_COOKIE, CLI_SIGN_IN_COOKIE]) {
    const cookie = signInCookie({ name, shape: {}, secure: false, secretKey })
    for (const [value, what] of secrets) {
      const signIn = what === 'cookie' && (await cookie.read({ [name]: value }))
      if (signIn) opened.set(signIn.verifier, 'PKCE verifier').set(signIn.state, 'state')
    }
  }
  return opened
}

/** What must not stand in a log whoever it is of. */
const SHAPES = {
  'the word Authorization': /authorization/i,
  'a bearer value': /\b(?:bearer|bot) +[\w.-]{8,}/i,
  'a private key': /-----BEGIN|PRIVATE KEY/,
  'a JWT': /\beyJ[\w-]{8,}\.[\w-]{8,}/,
  'a machine token': /plat_[\w-]{12,}/,
  'a password in a URL': /:\/\/[^/\s:@"]*:[^/\s@"]+@/,
  'a field of a sign-in': /code_verifier|client_secret/i,
}

/** Each line of `output` that tells a secret, with what it tells. */
export function leaksIn(output: string, secrets: Secrets): string[] {
  const all = [...secrets].flatMap(([value, what]) =>
    [...new Set([value, encodeURIComponent(value)])].map((text) => ({ text, what })),
  )
  return output.split('\n').flatMap((line) => [
    ...all.filter(({ text }) => line.includes(text)).map(({ what }) => `${what}: ${line}`),
    ...Object.entries(SHAPES)
      .filter(([, shape]) => shape.test(line))
      .map(([what]) => `${what}: ${line}`),
  ])
}

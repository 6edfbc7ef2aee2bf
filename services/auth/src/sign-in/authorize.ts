import type { Config } from '../config.ts'
import { challengeOf } from './state.ts'

interface Asked {
  scope: 'identify' | 'identify guilds'
  redirectUri: string
  state: string
  verifier: string
}

/** The chat platform's page on which somebody agrees to sign in (RFC 6749 § 4.1.1, RFC 7636 § 4.3). */
export function authorizeUrl(
  { CHAT_AUTHORIZE_URL, CLIENT_ID = '' }: Config,
  { scope, redirectUri, state, verifier }: Asked,
) {
  const url = new URL(CHAT_AUTHORIZE_URL)
  url.search = String(
    new URLSearchParams({
      client_id: CLIENT_ID,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope,
      state,
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
    }),
  )
  return url.href
}

import { createHash, randomBytes } from 'node:crypto'

/** Milliseconds that a code waits for its exchange. */
export const CODE_MS = 10 * 60_000
/** Seconds that a user's access token counts. */
export const TOKEN_SECONDS = 604_800

interface Agreed {
  userId: string
  scope: string
}

interface Code extends Agreed {
  redirectUri: string
  challenge: string | undefined
  expires: number
}

interface AccessToken extends Agreed {
  expires: number
}

interface Redeem {
  code: string
  redirectUri: string
  verifier: string | undefined
}

export type Grants = ReturnType<typeof createGrants>

/** The codes and tokens given out since the start, by the clock `now`. */
export function createGrants(now: () => Date) {
  const codes = new Map<string, Code>()
  const tokens = new Map<string, AccessToken>()
  const refreshTokens = new Map<string, Agreed>()

  function newTokens({ userId, scope }: Agreed) {
    const [token, refreshToken] = [newValue(), newValue()]
    tokens.set(token, { userId, scope, expires: now().getTime() + TOKEN_SECONDS * 1000 })
    refreshTokens.set(refreshToken, { userId, scope })
    return { token, refreshToken, scope }
  }

  return {
    /** A single-use code for a user who agreed. */
    makeCode(agreed: Omit<Code, 'expires'>): string {
      const code = newValue()
      codes.set(code, { ...agreed, expires: now().getTime() + CODE_MS })
      return code
    },
    /** The tokens for a code, or the reason why not. A code is gone either way. */
    redeem({ code, redirectUri, verifier }: Redeem) {
      const found = codes.get(code)
      codes.delete(code)
      if (!found || found.expires <= now().getTime()) return 'code' as const
      if (found.redirectUri !== redirectUri) return 'redirect_uri' as const
      if (found.challenge === undefined) return newTokens(found)
      if (verifier === undefined) return 'no_code_verifier' as const
      return found.challenge === s256(verifier) ? newTokens(found) : ('code_verifier' as const)
    },
    /** New tokens for a refresh token, which is spent by it; nothing for one that is not known. */
    refresh(refreshToken: string) {
      const agreed = refreshTokens.get(refreshToken)
      refreshTokens.delete(refreshToken)
      return agreed && newTokens(agreed)
    },
    /** What a user agreed to, by an access token that still counts. */
    find(token: string): Agreed | undefined {
      const found = tokens.get(token)
      return found && found.expires > now().getTime() ? found : undefined
    },
  }
}

const newValue = () => randomBytes(24).toString('base64url')

/** RFC 7636 § 4.2. */
const s256 = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

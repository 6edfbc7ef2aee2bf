import { createHash, randomBytes } from 'node:crypto'

/** Milliseconds that a code waits for its exchange. */
const CODE_MS = 10 * 60_000
/** Seconds that a user's access token counts. */
export const TOKEN_SECONDS = 604_800

interface Grant {
  userId: string
  scope: string
  redirectUri: string
  challenge: string | undefined
  expires: number
}

export type Grants = ReturnType<typeof createGrants>

/** The codes and tokens given out since the start. */
export function createGrants() {
  const codes = new Map<string, Grant>()
  const tokens = new Map<string, Pick<Grant, 'userId' | 'scope'>>()
  return {
    /** A single-use code for a user who agreed. */
    makeCode(grant: Omit<Grant, 'expires'>): string {
      const code = randomBytes(15).toString('base64url')
      codes.set(code, { ...grant, expires: Date.now() + CODE_MS })
      return code
    },
    /** A token for a code, or nothing where code, address or PKCE verifier do not fit. A code is gone either way. */
    redeem(code: string, redirectUri: string, verifier: string | undefined) {
      const grant = codes.get(code)
      codes.delete(code)
      if (!grant || grant.expires < Date.now() || grant.redirectUri !== redirectUri)
        return undefined
      if (grant.challenge !== undefined && grant.challenge !== s256(verifier ?? ''))
        return undefined
      const token = randomBytes(20).toString('base64url')
      tokens.set(token, grant)
      return { token, scope: grant.scope }
    },
    find: (token: string) => tokens.get(token),
  }
}

/** RFC 7636 § 4.2. */
const s256 = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

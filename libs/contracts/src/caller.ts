/** Who a request acts for, once the gateway has checked the credential. */
export type Caller =
  | { kind: 'public' }
  | Person<'platform'>
  | (Person<'officer'> & { superadmin: boolean })
  | Person<'superadmin'>
  | {
      kind: 'machine'
      token_id: string
      token_kind: 'app' | 'agent' | 'cli'
      name: string
      scopes: readonly string[]
      /** The tool by which it asks. Only the service that answers the tool says so, to itself. */
      tool?: string
    }
  | Session<'session'>
  | Session<'member'>
  | {
      /** A member of the org's chat server, by the token of their CLI. */
      kind: 'cli'
      chat_user_id: string
      username: string
      token_id: string
    }
  | {
      kind: 'identity'
      /** Verified by the identity provider, in lower case. */
      email: string
      /** The person's id there. */
      subject: string
    }

/** A member's cookie session (decisions.md § 0, Cookie). */
interface Session<Kind extends string> {
  kind: Kind
  chat_user_id: string
  username: string
  session_id: string
}

/** Somebody who signed in through the chat platform, and the token they did it with. */
interface Person<Kind extends string> {
  kind: Kind
  chat_user_id: string
  username: string
  /** The `jti` of the access token, and its end in seconds since 1970. */
  token_id: string
  expires_at: number
  /** An app token: it stands for its officer, never for the superadmin. */
  type?: 'app'
}

/** What a route asks of its caller. The first kind that the credential can be is the one taken. */
export interface Need {
  accepts: readonly Caller['kind'][]
  scope?: string
  token_kind?: 'agent'
  /** A machine token that holds this may use it too, by a tool alone; the gateway lets none in. */
  tool_scope?: string
  /** A platform token of type `app` is refused. */
  app_token?: false
}

/** No credential is looked at. */
export const anyone = { accepts: ['public'] } as const
/** As `anyone`; and the tools of a machine token with this scope do the same. */
export const anyoneOrTool = <S extends string>(tool_scope: S) =>
  ({ accepts: ['public'], tool_scope }) as const
/** A platform token of whoever signed in; no org is decided. */
export const anyPlatform = { accepts: ['platform'] } as const
/** As `anyPlatform`, and no app token: only who signed in. */
export const signedInPerson = { accepts: ['platform'], app_token: false } as const
/** As `anyPlatform`, and also without a token, or with one that no longer counts. */
export const maybePlatform = { accepts: ['platform', 'public'] } as const
/** As `maybePlatform`; and the tools of a machine token with this scope do the same. */
export const maybePlatformOrTool = <S extends string>(tool_scope: S) =>
  ({ accepts: ['platform', 'public'], tool_scope }) as const
/** A platform token of an officer of the org in the URL, or of the superadmin. */
export const officer = { accepts: ['officer'] } as const
/** As `officer`; and the tools of a machine token with this scope do the same. */
export const officerOrTool = <S extends string>(tool_scope: S) =>
  ({ accepts: ['officer'], tool_scope }) as const
/** A platform token whose `chat_user_id` is in SYS_ADMIN. */
export const superadmin = { accepts: ['superadmin'] } as const
/** A machine token that holds `scope`. The org is the token's. */
export const machine = <S extends string>(scope: S) => ({ accepts: ['machine'], scope }) as const
/** As `machine`, and the token must be of kind `agent`. */
export const agent = <S extends string>(scope: S) =>
  ({ accepts: ['machine'], scope, token_kind: 'agent' }) as const
/** Any machine token, whatever its scopes. */
export const anyMachine = { accepts: ['machine'] } as const

/** A cookie session of whoever signed in through the chat platform; no org is decided. */
export const anySession = { accepts: ['session'] } as const
/** A cookie session of a member of the chat server of the org in the URL. */
export const member = { accepts: ['member'] } as const
/** As `member`, or the member's CLI token, whose org it must be. */
export const memberOrCli = { accepts: ['member', 'cli'], scope: 'compute:connect' } as const
/** A token of the identity provider, of somebody whose email it has verified. */
export const identity = { accepts: ['identity'] } as const
/**
 * A token of the identity provider, or a platform token: the `kind` says which. A platform token's username
 * is never an email (decisions.md § 0): its email is that of the account linked to its `chat_user_id`, if any.
 */
export const siteMember = { accepts: ['identity', 'platform'] } as const
/**
 * As `siteMember`, and whoever comes with a platform token is an officer of the org in the URL, or the
 * superadmin. A caller of kind `identity` is no officer: the route gives them what is their own.
 */
export const siteMemberOrOfficer = { accepts: ['identity', 'officer'] } as const

/** True if `caller` is of a kind that the route takes and holds its scope. */
export function fits(caller: Caller, need: Need): boolean {
  if (caller.kind === 'machine' && caller.tool !== undefined && need.tool_scope !== undefined)
    return caller.scopes.includes(need.tool_scope)
  if (!need.accepts.includes(caller.kind)) return false
  if (caller.kind !== 'machine') return true
  if (need.token_kind && caller.token_kind !== need.token_kind) return false
  return need.scope === undefined || caller.scopes.includes(need.scope)
}

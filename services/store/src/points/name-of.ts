import type { Caller } from '@guildhall/contracts/caller'

/** Who gave points, as members read it: an officer's username, or the name of the token that a tool used. */
export const nameOf = (caller: Extract<Caller, { kind: 'officer' | 'machine' }>): string =>
  caller.kind === 'machine' ? caller.name : caller.username

import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Caller } from '@guildhall/contracts/caller'
import type { Service } from '@guildhall/contracts/names'
import type { OrgRef } from '@guildhall/contracts/route'
import { derived } from './internal-key.ts'

/** The header by which the gateway tells a service who calls. */
export const CALLER_HEADER = 'x-guildhall-caller'
const LIFETIME_SECONDS = 30
const HS256 = encode({ alg: 'HS256', typ: 'JWT' })

export interface Identity {
  caller: Caller
  org: OrgRef | undefined
  request_id: string
}

/** Where one signed decision counts: nowhere else can it be replayed. */
export interface Target {
  service: Service
  method: string
  /** The path with its query, as sent. */
  path: string
}

/** The key that the gateway shares with one service alone. */
export const callerKey = (internalKey: string, service: Service): KeyObject =>
  createSecretKey(derived(internalKey, service, 'caller', 32))

/** Signs what the gateway decided, for one service, method and path, for 30 seconds. */
export function signIdentity(identity: Identity, target: Target, key: KeyObject, now = Date.now()) {
  const exp = Math.floor(now / 1000) + LIFETIME_SECONDS
  const claims = `${HS256}.${encode({ ...identity, aud: target.service, req: requestHash(target), exp })}`
  return `${claims}.${mac(claims, key).toString('base64url')}`
}

/** The identity in a token that is ours, unexpired and made for `target`; else nothing. */
export function openIdentity(token: string, target: Target, key: KeyObject, now = Date.now()) {
  if (!token.startsWith(`${HS256}.`)) return undefined
  const claims = token.slice(0, token.lastIndexOf('.'))
  const given = Buffer.from(token.slice(claims.length + 1), 'base64url')
  const wanted = mac(claims, key)
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined
  const body = Buffer.from(claims.slice(HS256.length + 1), 'base64url').toString()
  const opened = claimsIn(body)
  const meant = opened?.aud === target.service && opened.req === requestHash(target)
  return meant && opened.exp * 1000 > now ? opened : undefined
}

type Claims = Identity & { aud: string; req: string; exp: number }
function claimsIn(body: string): Claims | undefined {
  try {
    return (JSON.parse(body) as Claims | null) ?? undefined
  } catch {
    return undefined
  }
}

const requestHash = ({ method, path }: Target) => hash('sha256', `${method} ${path}`, 'base64url')
const mac = (text: string, key: KeyObject) => createHmac('sha256', key).update(text).digest()
function encode(value: object) {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

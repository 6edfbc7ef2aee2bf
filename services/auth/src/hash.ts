import { createHash, randomBytes } from 'node:crypto'

/** SHA-256 in base64url: how every bearer value is kept. */
export const sha256 = (value: string) => createHash('sha256').update(value).digest('base64url')

/** 256 random bits in base64url, 43 characters. */
export const randomValue = () => randomBytes(32).toString('base64url')

import { z } from 'zod'
import { parseKeys } from './sealed.ts'

/** SECRETS_KEY as a setting: `what` it seals. A value with an unacceptable key is refused with what is accepted. */
export const sealingKeys = (what: string) =>
  z
    .string()
    .superRefine((keys, { addIssue }) => {
      try {
        parseKeys(keys)
      } catch (error) {
        addIssue((error as Error).message)
      }
    })
    .optional()
    .describe(`Seals ${what}; a comma list: the first seals, all open`)

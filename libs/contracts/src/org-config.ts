import { z } from 'zod'
import { KnowledgeSettings } from './knowledge.ts'

/** What services keep for an org, as the org shows it; what one keeps is missing while it does not answer. */
export const OrgConfig = z.object({
  knowledge: KnowledgeSettings.partial().optional().describe('What the org set itself'),
  dashboard: z
    .object({ resolved: z.array(z.string()).describe('Ids of notifications') })
    .optional()
    .describe('What officers have seen to'),
})

import { services } from '@guildhall/contracts/names'
import { provision } from '@guildhall/db/provision'
import { commonSettings, readSettings } from '@guildhall/service/config'
import { z } from 'zod'
import { explainFaults } from '../explain.ts'

const { INTERNAL_KEY, DATABASE_URL } = commonSettings

/** Makes each service's role and schema, so that the services need not know the owner of the database. */
if (import.meta.main) {
  explainFaults()
  const settings = readSettings(z.object({ INTERNAL_KEY, DATABASE_URL }), process.env)
  for (const service of services)
    await provision(settings.DATABASE_URL, service, settings.INTERNAL_KEY, { newKey: 'accepted' })
}

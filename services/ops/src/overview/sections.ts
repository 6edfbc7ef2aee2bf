import {
  type SectionName,
  type Sections,
  sectionOwners,
  tellSections,
} from '@guildhall/contracts/dashboard'
import type { OrgRef } from '@guildhall/contracts/route'
import { answerOf } from '../answer-of.ts'
import type { Deps } from '../deps.ts'

type Shown = { [K in SectionName]?: NonNullable<Sections[K]> | { unavailable: true } }

/** The sections of the modules that are on, each from its service; all are asked at once. */
export async function sectionsOf(deps: Deps, org: OrgRef): Promise<Shown> {
  const names = Object.keys(sectionOwners) as SectionName[]
  const wanted = names.filter((name) => isOn(name, org))
  const services = [...new Set(wanted.map((name) => sectionOwners[name].service))]
  const told = new Map(
    await Promise.all(
      services.map(async (service) => {
        const sections = await answerOf(deps, tellSections(service), { org_id: org.id })
        return [service, sections] as const
      }),
    ),
  )
  const shown = wanted.map((name) => {
    const section = told.get(sectionOwners[name].service)?.[name]
    return [name, section ?? { unavailable: true }]
  })
  return Object.fromEntries(shown)
}

function isOn(name: SectionName, { modules }: OrgRef) {
  const { module } = sectionOwners[name]
  return module === undefined || modules.includes(module)
}

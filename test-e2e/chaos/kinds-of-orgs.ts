import { createAppToken, listAppTokens } from '@guildhall/contracts/app-tokens'
import {
  getCalendarSettings,
  listCalendarRuns,
  putCalendarSettings,
  syncCalendar,
} from '@guildhall/contracts/calendar'
import { getCi, putCiRepos } from '@guildhall/contracts/ci'
import { getOrg, putOrgSettings } from '@guildhall/contracts/orgs'
import {
  createMachineToken,
  deleteMachineToken,
  listMachineTokens,
} from '@guildhall/contracts/tokens'
import { type Hands, org } from './hands.ts'
import { acknowledged, answered, everyPage, type Kind } from './kind.ts'

/** What officers set up: at auth, calendar and ops. */
export const kindsOfOrgs = (hands: Hands): Kind[] => [
  machineTokens(hands),
  appTokens(hands),
  orgSettings(hands),
  calendarSettings(hands),
  calendarSyncs(hands),
  ciRepos(hands),
]

function machineTokens({ officer, org_id }: Hands): Kind {
  const params = { org_id }
  return {
    name: 'machine tokens',
    audit: { action: 'auth.machine_token.created', by: 'token_id' },
    most: 100,
    async write(n) {
      const body = { name: `chaos ${n}`, kind: 'app' as const, scopes: ['org:read' as const] }
      return (await acknowledged(officer().call(createMachineToken, { params, body })))?.id
    },
    async remove(token_id) {
      const gone = officer().call(deleteMachineToken, { params: { org_id, token_id } })
      return (await acknowledged(gone)) !== undefined
    },
    async held() {
      const tokens = await everyPage(async (cursor) => {
        const query = { limit: '500', cursor }
        const body = await answered(officer().call(listMachineTokens, { params, query }))
        return { ...body, items: body.tokens }
      })
      return tokens.map(({ id }) => id)
    },
  }
}

/** A person has at most 20: the unknown ones count too. */
const MOST_APP_TOKENS = 8

const appTokens = ({ officer }: Hands): Kind => ({
  name: 'app tokens',
  most: MOST_APP_TOKENS,
  restMs: 2_000,
  async write(n) {
    const made = officer().call(createAppToken, { query: { appname: `chaos-${n}` } })
    return (await acknowledged(made)) && `chaos-${n}`
  },
  async held() {
    const tokens = await answered(officer().call(listAppTokens, {}))
    return tokens.map(({ app_name }) => app_name)
  },
})

const orgSettings = ({ officer, org_id }: Hands): Kind => ({
  name: 'org settings',
  replaces: true,
  async write(n) {
    const body = { description: `chaos-${n}` }
    const put = officer().call(putOrgSettings, { params: { org_id }, body })
    return (await acknowledged(put))?.description
  },
  async held() {
    const { description } = await answered(officer().call(getOrg, { params: { org_id } }))
    return [description]
  },
})

const calendarSettings = ({ rivalOfficer, rival_id: org_id }: Hands): Kind => ({
  name: 'calendar settings',
  replaces: true,
  async write(n) {
    const google_calendar_id = `chaos-${n}`
    const body = { notes_database_id: null, calendar_sync_enabled: false, google_calendar_id }
    const put = rivalOfficer().call(putCalendarSettings, { params: { org_id }, body })
    return (await acknowledged(put)) && google_calendar_id
  },
  async held() {
    const set = await answered(rivalOfficer().call(getCalendarSettings, { params: { org_id } }))
    return [String(set.google_calendar_id)]
  },
})

/** Held are those that have come to an end, whatever the outside services said. */
const calendarSyncs = ({ officer }: Hands): Kind => ({
  name: 'calendar syncs',
  restMs: 1_000,
  audit: { action: 'calendar.sync.started', by: 'run_id' },
  async write() {
    const started = officer().call(syncCalendar, { params: org, query: {} })
    return (await acknowledged(started))?.run_id
  },
  async held() {
    const runs = await everyPage(async (cursor) => {
      const query = { limit: '500', cursor }
      const body = await answered(officer().call(listCalendarRuns, { params: org, query }))
      return { ...body, items: body.runs }
    })
    return runs.filter(({ status }) => status === 'success').map(({ run_id }) => run_id)
  },
})

const ciRepos = ({ officer }: Hands): Kind => ({
  name: 'CI repositories',
  replaces: true,
  async write(n) {
    const body = { repos: [`chaos/chaos-${n}`] }
    return (await acknowledged(officer().call(putCiRepos, { params: org, body })))?.repos[0]
  },
  async held() {
    const { repos } = await answered(officer().call(getCi, { params: org }))
    return repos.map(({ repo }) => repo)
  },
})

import { listMessages } from '@guildhall/contracts/agent-conversations'
import { addMemory, listMemories } from '@guildhall/contracts/agent-memories'
import { commitTurn } from '@guildhall/contracts/agent-turns'
import { listSources, putSource } from '@guildhall/contracts/knowledge'
import { people } from '@guildhall/sandbox/demo'
import { newId } from '@guildhall/service/id'
import type { Hands } from './hands.ts'
import { acknowledged, answered, everyPage, type Kind } from './kind.ts'

/** What one conversation and one member are written; the routes show at most 500. */
const TOGETHER = 200

/** What agents keep: at knowledge and agents. */
export const kindsOfAgents = (hands: Hands, run: string): Kind[] => [
  sources(hands),
  turns(hands, run),
  memories(hands),
]

const sources = ({ agent }: Hands): Kind => ({
  name: 'knowledge sources',
  audit: { action: 'knowledge.source.written', by: 'key' },
  async write(n) {
    const chunks = [{ ordinal: 0, content: `The storm of number ${n} was seen from the hangar.` }]
    const body = { category: 'chaos', title: `Storm ${n}`, chunks }
    const put = agent().call(putSource, { params: { key: `chaos/${n}` }, body })
    return (await acknowledged(put))?.source.key
  },
  /** Those that searches find: the others are still to be indexed. */
  async held() {
    const all = await everyPage(async (cursor) => {
      const query = { limit: '500', cursor }
      const body = await answered(agent().call(listSources, { query }))
      return { ...body, items: body.sources }
    })
    return all.filter(({ version }) => version !== null).map(({ key }) => key)
  },
})

function turns({ agent }: Hands, run: string): Kind {
  const conversations: string[] = []
  const params = { chat_user_id: people.member.id }
  return {
    name: 'turns',
    once: true,
    async write(n) {
      const at = Math.floor(n / TOGETHER)
      conversations[at] ??= newId()
      const conversation_id = conversations[at]
      const messages = [{ role: 'user' as const, content: `turn-${n}` }]
      const where = { conversation_id, channel_id: `chaos-${at}`, visibility: 'private' as const }
      const keyed = agent({ 'idempotency-key': `${run}-turn-${n}` })
      const done = await acknowledged(
        keyed.call(commitTurn, { params, body: { ...where, messages } }),
      )
      return done && `turn-${n}`
    },
    async held() {
      const read = async (conversation_id: string) => {
        const sent = { params: { ...params, conversation_id }, query: { limit: '500' } }
        return (await answered(agent().call(listMessages, sent))).messages
      }
      const all = await Promise.all(conversations.map(read))
      return all.flat().map(({ content }) => String(content))
    },
  }
}

function memories({ agent }: Hands): Kind {
  const members = new Set<string>()
  return {
    name: 'memories',
    async write(n) {
      const chat_user_id = `1844027000000${String(10_000 + Math.floor(n / TOGETHER))}`
      members.add(chat_user_id)
      const sensitivity = n % 2 === 0 ? ('sensitive' as const) : ('normal' as const)
      const body = { kind: 'semantic' as const, content: `memory-${n}`, sensitivity }
      const added = agent().call(addMemory, { params: { chat_user_id }, body })
      return (await acknowledged(added))?.id
    },
    async held() {
      const read = async (chat_user_id: string) => {
        const sent = { params: { chat_user_id }, query: { limit: '500' } }
        return (await answered(agent().call(listMemories, sent))).memories
      }
      const all = await Promise.all([...members].map(read))
      return all.flat().map(({ id }) => id)
    },
  }
}

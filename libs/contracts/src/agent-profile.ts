import { z } from 'zod'
import { AgentParams, MOST_ITEMS, RowLimit } from './agent-conversations.ts'
import { Confidence } from './agent-memories.ts'
import { agent } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, nextCursor, Paging } from './fields.ts'
import { job } from './job.ts'
import { route } from './route.ts'

/** What is known of a member, as a graph (interface.md, Agent storage; decisions.md § 4). */

const Label = z.string().min(1).max(500)
const RelationName = z.string().min(1).max(200)

export const ProfileNode = z
  .object({ kind: z.string().min(1).max(100), label: Label })
  .meta({ id: 'ProfileNode' })
export type ProfileNode = z.output<typeof ProfileNode>

const RelationEnds = z.object({ subject: ProfileNode, relation: RelationName, object: ProfileNode })
export type RelationEnds = z.output<typeof RelationEnds>
export const Fact = RelationEnds.extend({ confidence: Confidence.default(1) })
export type Fact = z.output<typeof Fact>
export const Facts = z.array(Fact).min(1).max(MOST_ITEMS)

export const Relation = RelationEnds.extend({ confidence: z.number() }).meta({
  id: 'ProfileRelation',
})
export type Relation = z.output<typeof Relation>
export const Profile = z.object({ nodes: z.array(ProfileNode), relations: z.array(Relation) })
export const NearNode = ProfileNode.extend({
  distance: z.number().describe('Cosine distance, 0 to 2'),
}).meta({ id: 'NearNode' })
export type NearNode = z.output<typeof NearNode>
/** As long as a query of a search may be. */
export const SimilarText = z.string().trim().min(1).max(1000)

export const getProfile = route({
  method: 'GET',
  url: '/api/agents/members/:chat_user_id/profile',
  summary: 'The nodes, then the relations, page by page',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: AgentParams,
  query: Paging,
  reply: { 200: Profile.extend({ next_cursor: nextCursor }) },
})

export const addFacts = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/profile/facts',
  summary: 'Add relations with their nodes; one that is known keeps the higher confidence',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: AgentParams,
  body: z.object({ facts: Facts }),
  reply: { 200: z.object({ stored: z.int().describe('Different relations among the facts') }) },
})

export const matchRelations = route({
  method: 'GET',
  url: '/api/agents/members/:chat_user_id/profile/matching',
  summary: 'Relations from nodes with this label, whatever the case, the newest first',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: AgentParams,
  query: Paging.extend({ subject: Label, relation: RelationName.optional() }),
  reply: { 200: z.object({ relations: z.array(Relation), next_cursor: nextCursor }) },
})

export const findSimilarNodes = route({
  method: 'GET',
  url: '/api/agents/members/:chat_user_id/profile/similar',
  summary: 'The nodes whose meaning is nearest to a text',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: AgentParams,
  query: z.object({ text: SimilarText, limit: RowLimit.default(10) }),
  reply: { 200: z.object({ nodes: z.array(NearNode) }) },
})

export const deleteRelation = route({
  method: 'DELETE',
  url: '/api/agents/members/:chat_user_id/profile/relations',
  summary: 'Delete one relation; its nodes stay',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: AgentParams,
  body: RelationEnds,
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const deleteNodes = route({
  method: 'DELETE',
  url: '/api/agents/members/:chat_user_id/profile/nodes',
  summary: 'Delete the nodes with this label and their relations; answers how many nodes',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: AgentParams,
  query: z.object({ label: Label }),
  reply: { 200: z.object({ deleted: z.int() }) },
})

/** Asked for with each new node, and where a turn finds some that lack a vector of the present model. */
export const embedNodes = job({
  name: 'agents.embed_nodes',
  summary: "Give the nodes of a member's profile the vectors that they lack",
  args: z.object({
    org_id: z.int(),
    chat_user_id: ChatUserId,
    model: z.string().nullable().describe('Vectors of another model count as lacking'),
  }),
  attempts: 3,
  concurrency: 2,
  audited: false,
})

const OfMember = z.object({ chat_user_id: ChatUserId })
export const relationDeleted = audited('agents.relation.deleted', OfMember)
export const nodesDeleted = audited('agents.nodes.deleted', OfMember.extend({ nodes: z.int() }))

import type { SourceBody } from '@guildhall/contracts/knowledge'
import type { Identity } from '@guildhall/service/caller-token'
import { newId } from '@guildhall/service/id'
import type { z } from 'zod'

/** Callers and sources that tests begin with. */

/** A machine token of an org that may read and write knowledge. */
export function member(id: number, rest: { publisher?: boolean } = {}): Partial<Identity> {
  const org = { id, prefix: `org${id}`, name: `Org ${id}`, modules: ['knowledge'] }
  return {
    org: { ...org, publisher: false, ...rest },
    caller: {
      kind: 'machine',
      token_id: newId(),
      token_kind: 'app',
      name: 'test',
      scopes: ['knowledge:read', 'knowledge:write'],
    },
  }
}

/** An officer of an org. */
export function officer(id: number, rest: { publisher?: boolean } = {}): Partial<Identity> {
  const person = { chat_user_id: '12345', username: 'ada', token_id: newId(), expires_at: 4e9 }
  return { ...member(id, rest), caller: { kind: 'officer', superadmin: false, ...person } }
}

type Written = z.input<typeof SourceBody>

/** A source of page text. */
export function body(...contents: string[]): Written {
  const chunks = contents.map((content, ordinal) => ({ ordinal, content }))
  return { category: 'docs', title: 'Title', chunks }
}

/** A source whose rows carry unit vectors: their texts with angles in degrees. */
export function vectorBody(model: string, ...rows: [string, number][]): Written {
  const chunks = rows.map(([content, degrees], ordinal) => ({
    ordinal,
    content,
    embedding: [...vectorAt(degrees)],
  }))
  return { ...body(), embedding_model: model, chunks }
}

/** A unit vector; the cosine distance of two is 1 − cos of the angle between them. */
export function vectorAt(degrees: number): number[] {
  const angle = (degrees * Math.PI) / 180
  return [Math.cos(angle), Math.sin(angle), ...new Array<number>(1022).fill(0)]
}

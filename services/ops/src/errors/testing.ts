import type { ErrorEvent } from '@guildhall/contracts/event'
import { newId } from '@guildhall/service/id'

export const STACK = `TypeError: it broke
    at parse (/srv/app/node_modules/.pnpm/zod/core.ts:1:2)
    at node:internal/process/task_queues:104:5
    at save (file:///srv/app/services/auth/src/orgs/queries.ts:12:7)
    at route (file:///srv/app/libs/service/src/app.ts:90:1)`

/** An error event of org 1. */
export function event(more: Partial<ErrorEvent> = {}): ErrorEvent {
  return {
    id: newId(),
    created_at: '2031-01-01T00:00:00.000Z',
    service: 'auth',
    org_id: 1,
    kind: 'TypeError',
    message: 'it broke',
    stack: STACK,
    route: '/api/x',
    request_id: null,
    dropped_before: 0,
    ...more,
  }
}

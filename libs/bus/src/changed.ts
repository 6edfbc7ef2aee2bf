import { type Changed, changedSubject } from '@guildhall/contracts/event'
import { newId } from '@guildhall/service/id'
import type { Bus } from './connect.ts'
import type { Outgoing } from './outbox.ts'
import { TOLD } from './streams.ts'

type Drop = (id: string) => void
/** What each connection drops, by thing. */
const drops = new WeakMap<Bus, Map<Changed, Drop[]>>()

/** Tells every process to drop what it knows of a thing. May be lost: caches also end by themselves within 60 s. */
export function tellChanged(bus: Bus, thing: Changed, id: string | number) {
  bus.nats.publish(changedSubject(thing, id))
}

/**
 * The same for `enqueue`, in the transaction of the change: told even where this process dies after the
 * commit or has lost its broker, as long as a replica is there.
 */
export const toldChanged = (thing: Changed, id: string | number): Outgoing => ({
  id: newId(),
  stream: TOLD,
  subject: changedSubject(thing, id),
  payload: {},
})

/** Calls `drop` with the id of each such thing that changes. */
export function onChanged(bus: Bus, thing: Changed, drop: Drop) {
  const known = drops.get(bus) ?? new Map<Changed, Drop[]>()
  drops.set(bus, known.set(thing, [...(known.get(thing) ?? []), drop]))
  bus.nats.subscribe(changedSubject(thing, '*'), {
    callback: (error, { subject }) => {
      if (error) bus.log.warn({ err: error }, 'Changes cannot be heard; caches end by themselves')
      else drop(subject.slice(subject.lastIndexOf('.') + 1))
    },
  })
}

/** Drops here, at once, what this process knows of a thing. */
export function dropChanged(bus: Bus, thing: Changed, id: string | number) {
  for (const drop of drops.get(bus)?.get(thing) ?? []) drop(String(id))
}

import { type Changed, changedSubject } from '@guildhall/contracts/event'
import type { Bus } from './connect.ts'

/** Tells every process to drop what it knows of a thing. May be lost: caches also end by themselves within 60 s. */
export function tellChanged(bus: Bus, thing: Changed, id: string | number) {
  bus.nats.publish(changedSubject(thing, id))
}

/** Calls `drop` with the id of each such thing that changes. */
export function onChanged(bus: Bus, thing: Changed, drop: (id: string) => void) {
  bus.nats.subscribe(changedSubject(thing, '*'), {
    callback: (error, { subject }) => {
      if (error) bus.log.warn({ err: error }, 'Changes cannot be heard; caches end by themselves')
      else drop(subject.slice(subject.lastIndexOf('.') + 1))
    },
  })
}

import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** What `/metrics` of a process shows. */
export const registry = new Registry()
collectDefaultMetrics({ register: registry })

const registers = [registry]
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const LONG_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900]

/** Requests by the route that they took; `-` is none. */
export const requestSeconds = new Histogram({
  name: 'guildhall_http_request_seconds',
  help: 'Seconds from the arrival of a request to the end of its answer',
  labelNames: ['service', 'method', 'route', 'status'],
  buckets: SECONDS,
  registers,
})

/** Calls that a service answered over NATS. */
export const callSeconds = new Histogram({
  name: 'guildhall_call_seconds',
  help: 'Seconds that answering a call of another service took',
  labelNames: ['service', 'call', 'outcome'],
  buckets: SECONDS,
  registers,
})

/** Attempts of jobs. */
export const jobSeconds = new Histogram({
  name: 'guildhall_job_seconds',
  help: 'Seconds that an attempt of a job took',
  labelNames: ['job', 'outcome'],
  buckets: LONG_SECONDS,
  registers,
})

/** Error events that found the buffer full. */
export const droppedErrors = new Counter({
  name: 'guildhall_error_events_dropped_total',
  help: 'Lines at error or above that were not told to ops, as too many waited',
  registers,
})

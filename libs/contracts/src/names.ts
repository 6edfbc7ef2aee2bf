/** The services that own a schema, calls and routes. The gateway and the operator only call. */
export const services = [
  'auth',
  'knowledge',
  'ops',
  'compute',
  'agents',
  'mcp',
  'store',
  'calendar',
  'alerts',
  'bot',
] as const
export type Service = (typeof services)[number]

/** Where they listen unless a setting says otherwise. */
export const defaultPorts: Record<Service, number> = {
  auth: 4001,
  knowledge: 4002,
  ops: 4003,
  compute: 4004,
  agents: 4005,
  mcp: 4006,
  store: 4007,
  calendar: 4008,
  alerts: 4009,
  bot: 4010,
}

/** Everybody who connects to NATS, each as a user of its own. */
export const peers = [...services, 'gateway', 'operator'] as const
export type Peer = (typeof peers)[number]

/** What an org can switch on and off (decisions.md § 1). */
export const moduleNames = [
  'compute',
  'storefront',
  'calendar',
  'alerts',
  'points',
  'knowledge',
  'agents',
  'apps',
] as const
export type ModuleName = (typeof moduleNames)[number]

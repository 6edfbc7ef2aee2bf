import { type Pod, stateOf } from './life.ts'
import { type PodAction, priceOf } from './shapes.ts'

const ACTIONS: Record<ReturnType<typeof stateOf>, PodAction[]> = {
  PROVISIONING: ['stop', 'terminate'],
  STARTING: ['stop', 'terminate'],
  RUNNING: ['stop', 'restart', 'terminate'],
  EXITED: ['start', 'terminate'],
  ERROR: ['start', 'terminate'],
  TERMINATED: [],
}
/** Of the emulated host's CPU pods, per vCPU. */
const GB_PER_VCPU = 2

/** What may be done to a pod now. A locked one is neither stopped nor reset. */
export const actionsOf = (pod: Pod) =>
  ACTIONS[stateOf(pod)].filter((action) => !pod.record.locked || action === 'start')

/** A pod as the host shows it (the official Pod). */
export function shown(pod: Pod) {
  const { record, running } = pod
  const { gpu, cpu, ...config } = record.config
  const state = stateOf(pod)
  const stopped = state === 'EXITED' || state === 'TERMINATED'
  return {
    id: record.id,
    name: config.name,
    status: state,
    actions: actionsOf(pod),
    image: config.image,
    args: config.args,
    disk: config.disk,
    mounts: config.mounts,
    ports: config.ports,
    env: config.env,
    registry: config.registry,
    cloud: config.cloud,
    ...(gpu && { gpu: { id: gpu.id, count: gpu.count } }),
    ...(cpu && { cpu: { ...cpu, memory: cpu.vcpuCount * GB_PER_VCPU } }),
    dataCenterId: 'SANDBOX-1',
    cudaVersion: gpu ? '12.8' : null,
    ssh: { proxy: null, direct: directOf(pod) },
    template: null,
    cost: stopped ? 0 : priceOf({ gpu, cpu }),
    locked: record.locked,
    runtime: running ? runtimeOf(running) : null,
    createdAt: record.createdAt,
    startedAt: running?.startedAt.toISOString() ?? null,
    globalNetworking: { enabled: false },
  }
}

function directOf({ record, running }: Pod) {
  if (!running || !record.config.ports.includes('22/tcp')) return null
  const { port } = running
  return { host: '127.0.0.1', port, username: 'root', command: `ssh root@127.0.0.1 -p ${port}` }
}

const runtimeOf = ({ port, startedAt }: NonNullable<Pod['running']>) => ({
  uptime: Math.floor((Date.now() - startedAt.getTime()) / 1000),
  ports: [{ private: 22, public: port, type: 'tcp', ip: '127.0.0.1' }],
})

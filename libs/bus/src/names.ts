import type { Job } from '@guildhall/contracts/job'

/** `<service>-<job>`: the durable consumer of a job. */
export const durableOfJob = ({ name }: Job) => name.replace('.', '-')

import { rename, writeFile } from 'node:fs/promises'
import { MAX_PAYLOAD_BYTES, renderAuthorization } from '@guildhall/bus/embedded'
import { natsUsers } from '@guildhall/bus/users'
import { commonSettings, readSettings } from '@guildhall/service/config'
import { z } from 'zod'

const Settings = z.object({ INTERNAL_KEY: commonSettings.INTERNAL_KEY })

/** The configuration of the nats-server of docker-compose.yml: this version's users, and a probe on loopback. */
export const natsConf = (internalKey: string) => `host: "0.0.0.0"
port: 4222
http: "127.0.0.1:8222"
max_payload: ${MAX_PAYLOAD_BYTES}
jetstream { store_dir: "/data" }
${renderAuthorization(natsUsers(internalKey))}`

/** `nats-conf.ts <file>`: it holds passwords, so nobody else may read it. */
if (import.meta.main) {
  const [, , file = ''] = process.argv
  const { INTERNAL_KEY } = readSettings(Settings, process.env)
  await writeFile(`${file}.new`, natsConf(INTERNAL_KEY), { mode: 0o600 })
  await rename(`${file}.new`, file)
}

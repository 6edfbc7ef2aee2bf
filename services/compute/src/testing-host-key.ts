import { generateKeyPairSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import ssh2 from 'ssh2'

/** An SSH server that has a host key and nothing else. */
export async function hostKeyServer(t: Pick<TestContext, 'after'>) {
  const guests = { came: 0 }
  const listening = async () => {
    // in the oldest of formats: what ssh2 itself generates, it cannot always read
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ format: 'pem', type: 'sec1' }).toString()
    const server = new ssh2.Server({ hostKeys: [pem] }, (client) => {
      guests.came++
      client.on('error', () => {}).on('authentication', (context) => context.reject())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    cleanUp(t, async () => void server.close())
    const { port } = server.address() as AddressInfo
    const parsed = ssh2.utils.parseKey(pem)
    if (parsed instanceof Error) throw parsed
    const key = `${parsed.type} ${parsed.getPublicSSH().toString('base64')}`
    return { host: '127.0.0.1', port, key }
  }
  const first = await listening()
  return {
    ...first,
    /** How often somebody connected. */
    guests,
    /** From now on another machine answers at the pods' address. */
    async change() {
      Object.assign(this, await listening())
    },
  }
}

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { openSsh } from '../testing-openssh.ts'
import { type CertificateFields, checkCertificate, signCertificate } from './certificate.ts'
import { parsePublicKey } from './public-key.ts'
import { ed25519Blob, string } from './wire.ts'

const ca = () => generateKeyPairSync('ed25519').privateKey
const FIELDS: CertificateFields = {
  serial: 9_007_199_254_740_991,
  key_id: 'chat:12345:ada',
  principals: ['cp-pod1'],
  valid_after: 1_800_000_000,
  valid_before: 1_800_043_500,
  critical: { 'force-command': '/usr/local/bin/compute-login ada' },
  extensions: ['permit-pty', 'permit-port-forwarding'],
}

/** Security keys need hardware to be made; these are their formats around an ed25519 and an ECDSA key. */
function securityKey(line: string, type: string): string {
  const [was = '', base64 = ''] = line.split(' ')
  const fields = Buffer.from(base64, 'base64').subarray(4 + was.length)
  const blob = Buffer.concat([string(type), fields, string('ssh:')])
  return `${type} ${blob.toString('base64')}`
}

test('OpenSSH reads what a certificate says, for every kind of key', async (t) => {
  const ssh = await openSsh(t)
  const ed25519 = await ssh.key('-t', 'ed25519', '-C', 'a comment with spaces')
  const nistp256 = await ssh.key('-t', 'ecdsa', '-b', '256')
  const keys = [
    ed25519,
    nistp256,
    await ssh.key('-t', 'ecdsa', '-b', '384'),
    await ssh.key('-t', 'ecdsa', '-b', '521'),
    await ssh.key('-t', 'rsa', '-b', '2048'),
    await ssh.key('-t', 'rsa', '-b', '4096', '-C', ''),
    securityKey(ed25519, 'sk-ssh-ed25519@openssh.com'),
    securityKey(nistp256, 'sk-ecdsa-sha2-nistp256@openssh.com'),
  ]
  for (const line of keys) {
    const key = parsePublicKey(`${line}\n`)
    const said = await ssh.read(signCertificate(key, FIELDS, ca()))
    for (const expected of [
      'Key ID: "chat:12345:ada"',
      'Serial: 9007199254740991',
      'Valid: from 2027-01-15T08:00:00 to 2027-01-15T20:05:00',
      'cp-pod1',
      'force-command /usr/local/bin/compute-login ada',
      'permit-port-forwarding',
      'permit-pty',
    ])
      assert.ok(said.includes(expected), `${key.type}: ${expected}\n${said.join('\n')}`)
    assert.ok(said.some((one) => one.includes('user certificate')))
    assert.ok(said.some((one) => one.includes(key.fingerprint)))
  }
})

test('a certificate is checked against what was asked for: signer, key and each field', async (t) => {
  const ssh = await openSsh(t)
  const key = parsePublicKey(await ssh.key('-t', 'ed25519'))
  const other = parsePublicKey(await ssh.key('-t', 'ed25519'))
  const signer = ca()
  const line = signCertificate(key, FIELDS, signer)
  const check = (fields = FIELDS, by = signer, of = key, text = line) =>
    checkCertificate(text, of, { fields, ca: by })
  check()
  assert.throws(() => check({ ...FIELDS, serial: 1 }))
  assert.throws(() => check({ ...FIELDS, principals: ['cp-pod1', 'cp-pod2'] }))
  assert.throws(() => check({ ...FIELDS, critical: {} }))
  assert.throws(() => check({ ...FIELDS, extensions: ['permit-pty'] }))
  assert.throws(() => check(FIELDS, ca()))
  assert.throws(() => check(FIELDS, signer, other))
  const [type, base64 = ''] = line.split(' ')
  const altered = Buffer.from(base64, 'base64')
  altered[60] = (altered[60] ?? 0) ^ 1 // in the nonce, which nothing but the signature covers
  assert.throws(() => check(FIELDS, signer, key, `${type} ${altered.toString('base64')}`))
})

test('keys of every wrong kind are refused with what is wrong', async (t) => {
  const ssh = await openSsh(t)
  const good = await ssh.key('-t', 'ed25519')
  const [type, base64 = ''] = good.split(' ')
  const blob = Buffer.from(base64, 'base64')
  const point = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    format: 'jwk',
  })
  const offCurve = Buffer.concat([
    string('ecdsa-sha2-nistp256'),
    string('nistp256'),
    string(
      Buffer.concat([Buffer.of(4), Buffer.from(point.x ?? '', 'base64url'), Buffer.alloc(32)]),
    ),
  ])
  const encoded = (bytes: Buffer) => bytes.toString('base64')
  const wrong: [string, string][] = [
    ['', 'kind'],
    ['hello', 'kind'],
    ['ssh-dss AAAAB3NzaC1kc3M=', 'kind'],
    ['constructor AAAA', 'kind'],
    [await ssh.key('-t', 'rsa', '-b', '1024'), 'weak'],
    [`command="id" ${good}`, 'options'],
    [`cert-authority ${good}`, 'options'],
    [`${good}\n${good}`, 'many'],
    [`${good} ${'x'.repeat(4096)}`, 'too_long'],
    ['-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA', 'private'],
    [signCertificate(parsePublicKey(good), FIELDS, ca()), 'certificate'],
    [`${type} `, 'malformed'],
    [`${type} ${base64.slice(0, -4)}`, 'malformed'],
    [`${type} ${base64}!`, 'malformed'],
    [`${type} ${encoded(Buffer.concat([blob, Buffer.of(0)]))}`, 'malformed'],
    [`ssh-rsa ${base64}`, 'malformed'],
    [`ecdsa-sha2-nistp256 ${encoded(offCurve)}`, 'malformed'],
    [
      `ssh-rsa ${encoded(Buffer.concat([string('ssh-rsa'), string(Buffer.of(3)), string(Buffer.of(0x80))]))}`,
      'malformed',
    ],
    [
      `ssh-rsa ${encoded(Buffer.concat([string('ssh-rsa'), string(Buffer.of(1)), string(Buffer.alloc(257, 0x7f))]))}`,
      'malformed',
    ],
    [`ssh-ed25519 ${encoded(ed25519Blob(ca()).subarray(0, 20))}`, 'malformed'],
    [
      `sk-ssh-ed25519@openssh.com ${encoded(Buffer.concat([string('sk-ssh-ed25519@openssh.com'), string(Buffer.alloc(32))]))}`,
      'malformed',
    ],
  ]
  for (const [line, reason] of wrong)
    assert.throws(
      () => parsePublicKey(line),
      { kind: 'invalid', code: `public_key.${reason}` },
      line,
    )
})

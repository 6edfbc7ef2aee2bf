import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Multipart, MultipartFile } from '@fastify/multipart'
import type { Route, UploadedStream } from '@guildhall/contracts/route'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from './errors.ts'
import { limitsOf, noFile, textIn, wrongField } from './form.ts'

const BLOCK_BYTES = 64 * 1024

type Form = NonNullable<Route['form']>
type Parts = AsyncIterator<Multipart>

/**
 * Reads a form up to its only file, which is handed on while it comes. Where one of `names`, the text
 * fields, may still follow the file, the file goes through a nameless one on disk first.
 */
export async function streamForm(
  req: FastifyRequest,
  reply: FastifyReply,
  { form, names }: { form: Form; names: readonly string[] },
) {
  const parts: Parts = req.parts({ limits: limitsOf(form) })
  const fields: Record<string, unknown> = {}
  const file = await nextFile(parts, fields)
  if (!file) throw noFile(form.field)
  if (file.fieldname !== form.field) throw wrongField(form.field, file.fieldname)
  const bytes = bytesOf(file, { parts, fields, form })
  const isAllThere = names.every((name) => Object.hasOwn(fields, name))
  const upload = { name: file.filename, bytes: isAllThere ? bytes : await spool(bytes, reply) }
  return { ...fields, [form.field]: upload satisfies UploadedStream }
}

async function nextFile(parts: Parts, fields: Record<string, unknown>) {
  for (;;) {
    const { done, value } = await parts.next()
    if (done) return undefined
    if (value.type === 'file') return value
    fields[value.fieldname] = textIn(value)
  }
}

/** The file's bytes, then the rest of the form: only when that was read too is the file whole. */
async function* bytesOf(
  { file }: MultipartFile,
  { parts, fields, form }: { parts: Parts; fields: Record<string, unknown>; form: Form },
): AsyncGenerator<Uint8Array> {
  yield* file
  if (file.truncated) throw tooLarge(form)
  if (await nextFile(parts, fields))
    throw new AppError('invalid', 'file.too_many', 'Send one file at a time')
}

/** The same bytes from a file that no folder names: it is gone with this request or this process. */
async function spool(bytes: AsyncIterable<Uint8Array>, reply: FastifyReply) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-upload-'))
  const handle = await open(join(folder, 'file'), 'wx+', 0o600)
  reply.raw.once('close', () => void handle.close().catch(() => {})) // it may be closed already
  await rm(folder, { recursive: true })
  await handle.writeFile(bytes)
  return contentsOf(handle)
}

async function* contentsOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(BLOCK_BYTES), position })
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}

const tooLarge = ({ maxFileBytes }: Form) =>
  new AppError('too_large', 'file.too_large', `A file may have ${maxFileBytes} bytes at most`)

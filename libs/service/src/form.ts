import type { Route, UploadedFile } from '@guildhall/contracts/route'
import type { FastifyRequest } from 'fastify'
import { AppError } from './errors.ts'

/** Text fields of a form: no contract has more, nor longer ones. */
const MOST_FIELDS = 50
const MOST_FIELD_BYTES = 64 * 1024

/** Reads a whole form into its text fields and its files. Throws when a limit is passed: a cut-off file is no file. */
export async function readForm(
  req: FastifyRequest,
  form: NonNullable<Route['form']>,
  maxBytes: number,
) {
  const fields: Record<string, unknown> = {}
  const files: UploadedFile[] = []
  let bytes = 0
  const limits = {
    files: form.files,
    fileSize: form.maxFileBytes,
    fields: MOST_FIELDS,
    fieldSize: MOST_FIELD_BYTES,
  }
  for await (const part of req.parts({ limits })) {
    if (part.type === 'field') {
      if (part.valueTruncated) throw longField(part.fieldname)
      fields[part.fieldname] = part.value
      continue
    }
    if (part.fieldname !== form.field) {
      throw new AppError(
        'invalid',
        'file.field',
        `Send files in the field ${form.field}, not ${part.fieldname}`,
      )
    }
    const content = await part.toBuffer()
    bytes += content.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    files.push({ name: part.filename, bytes: content })
  }
  if (files.length === 0)
    throw new AppError('invalid', 'file.missing', `Send at least one file in ${form.field}`)
  return { ...fields, [form.field]: files }
}

const longField = (name: string) =>
  new AppError(
    'too_large',
    'field.too_large',
    `The field ${name} is longer than ${MOST_FIELD_BYTES} bytes`,
  )

const tooLarge = (maxBytes: number) =>
  new AppError(
    'too_large',
    'request.too_large',
    `The files together are larger than ${maxBytes} bytes`,
  )

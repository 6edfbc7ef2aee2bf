import type { MultipartValue } from '@fastify/multipart'
import type { Route, UploadedFile } from '@guildhall/contracts/route'
import type { FastifyRequest } from 'fastify'
import { AppError } from './errors.ts'

/** Text fields of a form: no contract has more, nor longer ones. */
const MOST_FIELDS = 50
const MOST_FIELD_BYTES = 64 * 1024

/** What the parser of forms may take in; it throws where one of these is passed. */
export const limitsOf = (form: NonNullable<Route['form']>) => ({
  files: form.files,
  fileSize: form.maxFileBytes,
  fields: MOST_FIELDS,
  fieldSize: MOST_FIELD_BYTES,
})

/** Reads a whole form into its text fields and its files. Throws when a limit is passed: a cut-off file is no file. */
export async function readForm(
  req: FastifyRequest,
  form: NonNullable<Route['form']>,
  maxBytes: number,
) {
  const fields: Record<string, unknown> = {}
  const files: UploadedFile[] = []
  let bytes = 0
  for await (const part of req.parts({ limits: limitsOf(form) })) {
    if (part.type === 'field') {
      fields[part.fieldname] = textIn(part)
      continue
    }
    if (part.fieldname !== form.field) throw wrongField(form.field, part.fieldname)
    const content = await part.toBuffer()
    bytes += content.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    files.push({ name: part.filename, bytes: content })
  }
  if (files.length === 0) throw noFile(form.field)
  return { ...fields, [form.field]: files }
}

/** The text of a field. Throws where it was cut off. */
export function textIn({ fieldname, value, valueTruncated }: MultipartValue): unknown {
  if (valueTruncated) throw longField(fieldname)
  return value
}

export const wrongField = (field: string, sent: string) =>
  new AppError('invalid', 'file.field', `Send files in the field ${field}, not ${sent}`)

export const noFile = (field: string) =>
  new AppError('invalid', 'file.missing', `Send at least one file in ${field}`)

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

import { z } from 'zod'
import { officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { Instant } from './fields.ts'
import { PodNamed, PodParams } from './pod-sessions.ts'
import { Bytes, FileStream, MEBIBYTE, route } from './route.ts'

/** The files of a running pod, as root (interface.md, Compute, file manager; decisions.md § 2). */

/** Longest text that is read or written, and longest file that is sent either way (interface.md, Limits). */
export const MOST_TEXT_BYTES = MEBIBYTE
export const MOST_FILE_BYTES = 100 * MEBIBYTE
/** PATH_MAX of Linux. */
export const MOST_PATH_BYTES = 4_096
/** Entries of one listing; `more` says that there are others. */
export const MOST_ENTRIES = 10_000
/** What a form has around its file: the path and the borders. */
const FORM_BYTES = 64 * 1024
/** JSON writes one byte as up to six: \u0001. */
const JSON_BYTES_PER_BYTE = 6

export const FilePath = z
  .string()
  .refine((path) => path.startsWith('/'), 'is an absolute path such as /workspace/notes.txt')
  .refine((path) => !path.includes('\0'), 'has no NUL')
  .refine(
    (path) => new TextEncoder().encode(path).length <= MOST_PATH_BYTES,
    `has at most ${MOST_PATH_BYTES} bytes`,
  )

export const FileEntry = z
  .object({
    name: z.string().describe('Bytes that are no UTF-8 appear as U+FFFD'),
    type: z.enum(['directory', 'file', 'link']),
    size: z.int(),
    modified: Instant,
    permissions: z.string().describe('As chmod takes them: 0644'),
  })
  .meta({ id: 'FileEntry' })
export type FileEntry = z.output<typeof FileEntry>

const OnePath = z.object({ path: FilePath })
const Written = z.object({ path: z.string(), size: z.int() })
const common = { owner: 'compute', caller: officer, module: 'compute', params: PodParams } as const

export const listFiles = route({
  ...common,
  caller: officerOrTool('compute:manage'),
  method: 'GET',
  url: '/api/compute/:org/pods/:pod_id/files',
  summary: 'The entries of a folder of a running pod, folders first',
  query: z.object({
    path: FilePath.optional().describe('Without it, where the volume is: /workspace'),
  }),
  reply: {
    200: z.object({
      path: z.string(),
      files: z.array(FileEntry),
      more: z.boolean().describe(`The folder has more than ${MOST_ENTRIES} entries`),
    }),
  },
})

export const readFile = route({
  ...common,
  caller: officerOrTool('compute:manage'),
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/files/read',
  summary: 'The text of a file of up to 1 MB',
  body: OnePath,
  reply: { 200: z.object({ path: z.string(), content: z.string() }) },
})

export const writeFile = route({
  ...common,
  caller: officerOrTool('compute:manage'),
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/files/write',
  summary: 'Replace a file with text of up to 1 MB',
  body: z.object({ path: FilePath, content: z.string() }),
  maxBytes: JSON_BYTES_PER_BYTE * MOST_TEXT_BYTES + FORM_BYTES,
  reply: { 200: Written },
})

export const downloadFile = route({
  ...common,
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/files/download',
  summary: 'A file of up to 100 MB as an attachment',
  body: OnePath,
  reply: { 200: Bytes },
})

export const uploadFile = route({
  ...common,
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/files/upload',
  summary: 'Save a file of up to 100 MB in the folder `path`; one of the same name is replaced',
  form: { field: 'file', files: 1, maxFileBytes: MOST_FILE_BYTES, streamed: true },
  maxBytes: MOST_FILE_BYTES + FORM_BYTES,
  body: z.object({ path: FilePath, file: FileStream }),
  reply: { 200: Written },
})

export const makeFolder = route({
  ...common,
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/files/mkdir',
  summary: 'Make a folder in one that is there',
  body: OnePath,
  reply: { 200: z.object({ path: z.string() }) },
})

export const renameFile = route({
  ...common,
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/files/rename',
  summary: 'Move or rename a file or a folder; nothing is replaced',
  body: z.object({ old_path: FilePath, new_path: FilePath }),
  reply: { 200: z.object({ old_path: z.string(), new_path: z.string() }) },
})

export const deleteFile = route({
  ...common,
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/files/delete',
  summary:
    'Delete a file, a link, or a folder with its contents; never /, /workspace, /root, /home or what holds them',
  body: OnePath,
  reply: { 200: z.object({ path: z.string(), deleted: z.literal(true) }) },
})

const FileNamed = PodNamed.extend({ path: z.string() })
export const fileWritten = audited('compute.file.written', FileNamed.extend({ size: z.int() }))
export const fileUploaded = audited('compute.file.uploaded', FileNamed.extend({ size: z.int() }))
export const folderMade = audited('compute.file.folder_made', FileNamed)
export const fileRenamed = audited(
  'compute.file.renamed',
  PodNamed.extend({ old_path: z.string(), new_path: z.string() }),
)
export const fileDeleted = audited('compute.file.deleted', FileNamed)

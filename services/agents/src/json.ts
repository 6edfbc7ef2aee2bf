import type { z } from 'zod'

/** Any JSON, as it stands in a column. */
export type JSONType = z.core.util.JSONType

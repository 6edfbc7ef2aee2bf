/** One item of a list, as it was read. */
export interface Found {
  /** What makes it the same item when the list is read again. */
  key: string
  /** The list it is of: what a list holds at its first reading is recorded and not posted. */
  source: string
  title: string
  url: string | null
  /** Shown below the title, in this order; empty ones are left out. */
  fields: Record<string, string>
  footer: string
  /** False where the rules of the feed leave it out for good: it is recorded, so that it is not taken for new later. */
  fits: boolean
}

/** What the lists of a feed hold now. */
export interface Listing {
  /** The first to be posted first. */
  items: Found[]
  /** Lists that were read. */
  sources: string[]
  /** What was wrong with those that were not. */
  error: string | null
}

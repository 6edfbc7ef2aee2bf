/** The text as Postgres keeps it. Lists are strangers': what becomes a key is made storable first, or two become one. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

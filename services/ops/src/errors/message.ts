/** What a message says of a group. */
export interface Told {
  service: string
  kind: string
  message: string
  location: string | null
  route: string | null
  returned: boolean
  /** The prefix of its org, where it happened in one. */
  org: string | undefined
}

/** A message of the chat platform has 2 000 characters. */
const MOST_MESSAGE_CHARS = 1_000
const MOST_NAME_CHARS = 200

/** The text of one message, in the chat platform's Markdown; what was logged stands in it as code. */
export function textOf({ service, kind, message, location, route, returned, org }: Told): string {
  const lines = [
    `**${returned ? 'An error came back' : 'New error'}** in ${service}${org ? ` (${org})` : ''}: ${code(kind)}`,
    block(message),
    location && `At ${code(location)}`,
    route && `Route ${code(route)}`,
  ]
  return lines.filter(Boolean).join('\n')
}

/** Told once there is room again, of the errors of one org or of the server. */
export const textOfHeld = (held: number, org: string | undefined) =>
  `**${held} more error${held === 1 ? '' : 's'}**${org ? ` of ${org}` : ''} ${held === 1 ? 'was' : 'were'} new or came back while there was no room for more messages in the hour. The error log has all.`

/** A backtick would end the code, and the platform takes no half of a character. */
const plain = (text: string, most: number) =>
  text.replaceAll('`', "'").slice(0, most).toWellFormed()
const code = (text: string) => `\`${plain(text, MOST_NAME_CHARS).replace(/\s+/g, ' ')}\``
const block = (text: string) => `\`\`\`\n${plain(text, MOST_MESSAGE_CHARS)}\n\`\`\``

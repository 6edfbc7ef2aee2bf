import type { FastifyInstance } from 'fastify'
import { escapeHtml, PAGE_HEADERS, page } from '../html.ts'
import type { ChannelMessage, ChatWebhook, World } from '../world.ts'

/** What webhooks and the bot posted since the start, as whoever reads the channel would see it. */
export function channelPage(app: FastifyInstance, { world }: { world: World }) {
  app.get('/chat/channel', (_req, reply) => {
    const hooks = world.webhooks?.flatMap((hook) => hook.messages) ?? []
    const posts = world.guilds.flatMap(({ channels = [] }) =>
      channels.flatMap((one) => one.messages),
    )
    const messages = [...hooks, ...posts].toSorted((a, b) => b.at - a.at)
    const shown = messages.flatMap((one) => ('content' in one ? shownPost(one) : shownMessage(one)))
    const body = shown.join('') || '<p>Nothing was posted yet.</p>'
    return reply.headers(PAGE_HEADERS).send(page('The channel', body))
  })
}

function shownPost({ at, content }: ChannelMessage) {
  const lines = content.split('\n').map(escapeHtml)
  return `<article><p>${lines.join('<br>')}<br><time>${new Date(at).toISOString()}</time></p></article>`
}

function shownMessage({ at, embeds = [] }: ChatWebhook['messages'][number]) {
  const time = new Date(at).toISOString()
  return embeds.map(({ title = '', url, fields = [], footer }) => {
    const lines = fields.map(({ name, value }) => `${name}: ${value}`)
    const rest = [...lines, url, footer?.text].flatMap((line) => (line ? [escapeHtml(line)] : []))
    return `<article><h2>${escapeHtml(title)}</h2><p>${rest.join('<br>')}<br><time>${time}</time></p></article>`
  })
}

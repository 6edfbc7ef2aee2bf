import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import type { ChatWebhook, World } from '../world.ts'
import { refuseLimited } from './limits.ts'

/** Limits of embeds and messages, as Discord documents them. */
const Text = (most: number) => z.string().trim().min(1).max(most)
const MOST_CHARACTERS = 6000
const Url = z.url({ protocol: /^https?$/ }).max(2048)
const Embed = z.object({
  title: Text(256).optional(),
  description: Text(4096).optional(),
  url: Url.optional(),
  fields: z
    .array(z.object({ name: Text(256), value: Text(1024), inline: z.boolean().optional() }))
    .max(25)
    .optional(),
  footer: z.object({ text: Text(2048) }).optional(),
})
const Message = z
  .object({
    content: z.string().max(2000).optional(),
    embeds: z.array(Embed).max(10).optional(),
    allowed_mentions: z.object({ parse: z.array(z.string()) }).optional(),
  })
  .refine(({ content, embeds }) => content || embeds?.length, 'Cannot send an empty message')
  .refine(({ embeds = [] }) => JSON.stringify(embeds).length <= 2 * MOST_CHARACTERS)

/** Webhooks of channels: whoever knows the URL may post there, without a credential. */
export function webhookRoutes(app: FastifyInstance, { world }: { world: World }) {
  interface Asked {
    Params: { id: string; token: string }
    Querystring: { wait?: string }
  }
  app.post<Asked>('/chat/api/webhooks/:id/:token', (req, reply) => {
    const { id, token } = req.params
    const hook = world.webhooks?.find((one) => one.id === id)
    if (!hook) return reply.code(404).send({ message: 'Unknown Webhook', code: 10_015 })
    hook.asked++
    if (faulty(hook, reply)) return reply
    if (hook.token !== token)
      return reply.code(401).send({ message: 'Invalid Webhook Token', code: 50_027 })
    const { data } = Message.safeParse(req.body)
    if (!data) return reply.code(400).send({ message: 'Invalid Form Body', code: 50_035 })
    return keep(hook, data, reply, req.query.wait === 'true')
  })
}

function keep(
  hook: ChatWebhook,
  data: z.output<typeof Message>,
  reply: FastifyReply,
  wait: boolean,
) {
  hook.messages.push({ at: Date.now(), ...data })
  if (hook.fault === 'fails_after') return reply.code(500).send({ message: '500', code: 0 })
  if (hook.fault === 'hangs_after') return reply.hijack()
  if (!wait) return reply.code(204).send()
  return reply.send({ id: String(hook.messages.length), webhook_id: hook.id, ...data })
}

/** Answers for the fault of the webhook, if it has one that comes before its work. */
function faulty(hook: ChatWebhook, reply: FastifyReply): boolean {
  if (hook.fault === 'hangs')
    reply.hijack() // never answered
  else if (hook.fault === 'drops') reply.raw.destroy()
  else if (hook.fault === 'rate_limited' || hook.limitedFor) {
    if (hook.limitedFor) hook.limitedFor--
    refuseLimited(reply, hook.retryAfterSeconds ?? 1)
  } else return false
  return true
}

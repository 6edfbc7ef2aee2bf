import type { CalendarEvent } from '@guildhall/contracts/calendar'
import type { SearchResult } from '@guildhall/contracts/knowledge'
import type { Standing } from '@guildhall/contracts/points'
import type { Wallet } from '@guildhall/contracts/store-members'
import { fitted, link, plain } from './text.ts'

/** Answers as the chat platform shows them. What others wrote goes through `plain`. */

const MOST_EVENTS = 10
const MOST_STANDINGS = 10
const MOST_ENTRIES = 5
const MOST_PASSAGES = 3
const PASSAGE_CHARS = 400

export function showEvents(org: string, events: CalendarEvent[], total: number): string {
  if (total === 0) return `Nothing is planned at ${plain(org)}.`
  const shown = events.slice(0, MOST_EVENTS).map(eventLine)
  return fitted(`**Coming up at ${plain(org)}**`, shown, total)
}

/** The post of a day. */
export function showDay(events: CalendarEvent[], { day, total }: { day: string; total: number }) {
  return fitted(`**${dayName(day)}**`, events.map(eventLine), total)
}

const IS_DAY = /^\d{4}-\d\d-\d\d$/

function eventLine({ title, start, end, location }: CalendarEvent): string {
  const where = location ? ` · ${plain(location, 100)}` : ''
  return `• **${plain(title, 150)}** · ${when(start, end)}${where}`
}

/** Instants are shown by the chat platform in each reader's own time zone. */
function when(start: string, end: string): string {
  if (!IS_DAY.test(start)) return `<t:${Math.floor(Date.parse(start) / 1000)}:f>`
  return start === end ? shortDay(start) : `${shortDay(start)} to ${shortDay(end)}`
}

const inEnglish = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
  return (day: string) => format.format(new Date(day))
}
const shortDay = inEnglish({ day: 'numeric', month: 'short' })
const dayName = inEnglish({ weekday: 'long', day: 'numeric', month: 'long' })

export function showLeaderboard(org: string, standings: Standing[]): string {
  if (standings.length === 0) return `Nobody at ${plain(org)} has points yet.`
  const lines = standings
    .slice(0, MOST_STANDINGS)
    .map(({ name, total_points }, n) => `${n + 1}\\. ${plain(name, 100)} · ${total_points}`)
  return fitted(`**Points at ${plain(org)}**`, lines)
}

export function showPoints(org: string, { total_points, points_breakdown }: Wallet): string {
  const lines = points_breakdown
    .slice(0, MOST_ENTRIES)
    .map(({ points, event }) => `${points > 0 ? '+' : ''}${points} · ${plain(event, 150)}`)
  return fitted(`You have **${total_points}** points at ${plain(org)}.`, lines, lines.length)
}

interface Pod {
  name: string
  status: string
}

export function showPods(org: string, pods: Pod[], isDegraded: boolean): string {
  if (isDegraded) return 'The pod host does not answer at the moment; try again in a minute.'
  if (pods.length === 0) return `No pod that you may use runs at ${plain(org)} now.`
  const lines = pods.map(
    ({ name, status }) => `• **${plain(name, 100)}** · ${status.toLowerCase()}`,
  )
  return fitted(`**Pods that you may use at ${plain(org)}**`, lines)
}

export function showPassages(found: SearchResult[]): string {
  if (found.length === 0)
    return 'Nothing was found. Try other words, or ask an officer to add a source.'
  const passages = found.slice(0, MOST_PASSAGES).map(({ title, url, content }) => {
    return `**${plain(title, 100)}** ${link(url)}\n> ${plain(content, PASSAGE_CHARS)}`
  })
  return fitted('This is what the club knows:', passages)
}
